"""Every action that changes something refuses in a workspace that is read-only, and to a reader. The modules are searched for
such actions, so that a new one cannot be forgotten here."""

from __future__ import annotations

import ast
import asyncio
import inspect
import io
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest

from core.base.config import REPOSITORY
from core.base.errors import DeskError, ReadOnly
from core.embeddings.space import make_space
from core.features.arguments.readings import ReadingPlan
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import TextLabel
from core.features.asking.question import Question
from core.features.cells.actions import LabelRequest
from core.features.cells.predictions import PredictionOptions
from core.features.cells.screen import LabelSettings
from core.features.experiments.ledger_table import Entry
from core.features.finetune.job_folder import FinetuneRequest
from core.features.importing import actions as imports
from core.features.importing import bundle_actions
from core.features.importing.files import FoundFile, recognise_upload
from core.features.importing.import_target import ImportOptions
from core.features.sharing.walks import Stop
from core.features.submissions.actions import PackageOptions
from core.features.targets.evaluate import EvaluationRequest
from core.llm.call_settings import CallSettings
from core.methods.base import method_named
from core.methods.fusion_components import DatasetPriors
from core.runs import component_loader
from core.runs.component_loader import WorkspaceComponents, default_dataset
from core.runs.jobs.control import Job
from core.runs.jobs.folder import JobFolder
from core.runs.jobs.work import Reporter
from core.runs.prompt_files import PromptFile
from core.runs.request import RunRequest
from core.runs.run_state import Counts, Heartbeat, write_heartbeat
from core.runs.workspace import Person, Workspace
from core.store import runs
from core.store.runs import Run
from core.store.spaces import PackRecord, SpaceRecord
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import EvaluationProtocol
from tests import cases, worlds
from tests.features.targets import cases as targets
from tests.runs.cases import fast
from tests.runs.killed import killed_run
from tests.ui.change_watch import API_KEY, ModelServer, counting

RUBRIC, LABEL = Rubric("q", "Is it?"), TextLabel("Pa_Ga", 0, "EFFECT", "yes", "Ada")
JOB = JobFolder(Path("nowhere"))
FOLDS = EvaluationProtocol("folds", 2)
PROMPTS = PromptFile("p.csv", b"id,prompt\na,b\n")
PLACES = (
    "core/runs/*.py",
    "core/runs/jobs/*.py",
    "core/features/*/*.py",
    "core/features/*/report/*.py",
    "core/features/*/site/*.py",
    "core/features/*/explorer/*.py",
)
# Module → the actions that change something, which have to refuse; and those that read, and are called with what they can read.
KINDS = {
    "features.asking.actions": (
        "ask resume watch",
        "answer_of list_ad_hoc_runs pair_of question_again",
    ),
    "features.importing.backups": ("restore", "back_up"),
    "features.importing.bundle_actions": ("build_bundle import_bundle write_bundle_file", ""),
    "features.cells.predictions": ("import_predictions import_typed import_uploaded", ""),
    "features.cells.actions": (
        "label_cells start_labels",
        "control_expression_of describe_typed job_of screen_folder",
    ),
    "features.experiments.comparison_log": (
        "write_looked",
        "count_comparisons look_at looked_by_dataset read_looked",
    ),
    "runs.component_loader": (
        "",
        "control_expression_of default_dataset find_null hash_contents kept_null kept_vectors load_index load_spaces neighbours_of null_of_run",
    ),
    "features.demo.actions": ("make_demo", ""),
    "features.asking.expectations": ("expect", "expectation_of has_label tally"),
    "features.importing.export": ("export write_log", "export_into"),
    "features.finetune.actions": ("resume start", "find list_all plan"),
    "features.fuse.explorer.travel": ("", "find_explorer fusion_data fusion_file"),
    "features.perturbqa.gene_sets": ("summarise_gene_sets", ""),
    "features.importing.actions": (
        "fetch_and_import import_files import_paths import_space import_upload import_uploads",
        "",
    ),
    "runs.jobs.control": ("resume start stop work", "find find_named list_jobs"),
    "runs.jobs.overview": (
        "resume start",
        "find_unsettled folder_of list_folders settle_crashed settle_ended unsettled_runs with_present_states",
    ),
    "features.neighbours.result": ("", "numbers_of"),
    "features.scores.space_controls": ("", "space_to_scramble"),
    "features.arguments.labels": ("draw_sample give_labels import_csv take_back", "export_csv"),
    "runs.launch": (
        "health run_to_end start",
        "describe_not_asked estimate execution_settings find_done rate_of resolve server_of settings_to_resume",
    ),
    "features.importing.lineage": ("", "prompts_of"),
    "runs.model_servers": (
        "check_change check_each refuse_unfit",
        "call_settings endpoint_of price_at prices_of_runs refuse_unlisted",
    ),
    "features.leakage.audit": ("", "audit find_leaks"),
    "runs.packs": (
        "",
        "name_of_latest names_of_kind pack_hashes read_latest read_orthologs read_packs",
    ),
    "features.importing.allowed_paths": ("import_path", ""),
    "features.importing.preview": (
        "",
        "preview_paths preview_upload",
    ),
    "features.importing.import_target": ("save_columns", "with_saved_columns"),
    "runs.prompt_files": ("keep", "check describe_unknown read_kept rows_of"),
    "features.arguments.readings": (
        "add_rubric add_rubric_file estimate plan_reading start_reading",
        "answer_by_rule_of answers find_reading find_rubric list_rubrics",
    ),
    "features.sharing.report.selection": (
        "delete_report save_report",
        "author_and_day find_report saved_reports",
    ),
    "runs.run_control": (
        "cancel pause resume retry settle settle_run start start_worker work_on",
        "find_same find_same_run find_status settings_of settings_of_worker states",
    ),
    "runs.actions": (
        "add_figure_note add_note delete delete_note delete_preset rename save_preset set_values",
        "keep_results",
    ),
    "features.sharing.site.actions": ("build_site write_site zip_site", ""),
    "features.neighbours.spaces": ("delete embed", "build coverage_of load match_dataset specify"),
    "features.submissions.actions": ("package", "check_file check_run expected_ids"),
    "features.targets.actions": (
        "create delete evaluate_saved resume start_apart train work_on",
        "find list_all",
    ),
    "features.importing.imported_rows": ("undo", ""),
    "runs.uploads_apart": ("read_apart", ""),
    "features.sharing.walks": (
        "add_stop delete_stop delete_walk move_stop set_sentence",
        "",
    ),
}
REFUSE, READ = (
    {f"{module}.{name}" for module, kinds in KINDS.items() for name in kinds[kind].split()}
    for kind in (0, 1)
)


def actions() -> set[str]:
    """Every public function that is given a workspace, as "module.function", of the modules of KINDS and of all that change
    something."""
    found = set()
    for file in (file for place in PLACES for file in REPOSITORY.glob(place)):
        module = ".".join(file.relative_to(REPOSITORY / "core").with_suffix("").parts)
        text = file.read_text("utf-8")
        changes = re.search(r"workspace\.(change|refuse_if_read_only)\(", text)
        elsewhere = (
            "command" in file.name or "experiments" in file.parts
        )  # whose plans take more to make
        if module not in KINDS and (elsewhere or not changes):
            continue
        found |= {
            f"{module}.{node.name}"
            for node in ast.parse(text).body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and not node.name.startswith("_")
            and not node.name.endswith("_task")  # of the process for uploads, started by read_apart
            if any(re.search(r"\bWorkspace\b", ast.unparse(each)) for each in annotations_of(node))
        }
    return found


def annotations_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    given = node.args
    for each in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
        if each is not None and each.annotation is not None:
            yield each.annotation


def test_every_action_refuses_or_reads() -> None:
    """A new one stands in `KINDS`: none takes a workspace otherwise."""
    assert actions() == REFUSE | READ
    assert not REFUSE & READ


@dataclass(frozen=True)
class Compared:
    """What is counted of a comparison of two runs."""

    a: object
    b: object
    p: float = 0.5
    looked_at: object = None


@dataclass(frozen=True)
class Stage:
    """What the actions are called with. workspace: one with a run "r" of which the store does not know that it is dead; files: a
    folder with files; elsewhere: one that any reader may write to; priors: a kNN of another workspace."""

    workspace: Workspace
    files: Path
    elsewhere: Path
    bundle: object
    priors: DatasetPriors

    @property
    def comparison(self) -> Compared:
        rows = SimpleNamespace(run=self.run)
        return Compared(rows, rows)

    @property
    def run(self) -> Run:
        with self.workspace.store.read() as db:
            return runs.find(db, "r")


def arguments_by_type(stage: Stage) -> dict[str, Any]:
    """What an action is given for a parameter, by its name and its type as they are written, or by its name alone."""
    workspace, run = stage.workspace, stage.run
    spec, dataset = workspace.run_folder(run.id).spec(), default_dataset(workspace, None)
    upload = ("t.csv", b"pert,gene,log2_fc\nA,B,-1\n")
    return {
        "Workspace": workspace,
        "Run": run,
        "Run | str": run,
        "Sequence[Run]": [run],
        "RunSpec": spec,
        "RunFolder": workspace.run_folder(run.id),
        "Dataset": dataset,
        "RowIndex": component_loader.load_index(workspace, dataset),
        "Iterable[str]": [run.id],
        "str | tuple[str, ...]": "sample=1",
        "pair_ids": spec.rows[:1],
        "rows": spec.rows[:1],
        "arguments": (),
        "ComponentLoader": WorkspaceComponents(workspace, dataset),
        "RunRequest": RunRequest("debate", "bmdm"),
        "ExecutionSettings": fast(),
        "Method": method_named("debate"),
        "Status": None,
        "JobFolder": JOB,
        "Job": Job("experiment", "b", "b", JOB, "crashed", can_resume=True),
        "Reporter": Reporter(JobFolder(stage.files / "none")),
        "BundleFile": stage.bundle,
        "ImportOptions": ImportOptions(),
        "PackageOptions": PackageOptions("B"),
        "PredictionOptions": PredictionOptions(),
        "LabelRequest": LabelRequest("s"),
        "LabelSettings": LabelSettings(),
        "CallSettings": CallSettings(),
        "Question": Question("Pa", "Ga"),
        "Entry": Entry(kind="result", name="h", hypothesis="it helps", source="here"),
        "PromptFile": PROMPTS,
        "PromptFile | None": PROMPTS,
        "Rubric": RUBRIC,
        "ReadingPlan": ReadingPlan(RUBRIC, RunRequest("judge_rubric", name="n"), None),  # type: ignore[arg-type]
        "TextLabel": LABEL,
        "Sequence[TextLabel]": [LABEL],
        "Design": "stratified",
        "Expected | None": "up",
        "PackRecord": PackRecord("p", "descriptions", "0", 0, "here", "p.json", ""),
        "SpaceRecord": SpaceRecord(
            "s", "s", "loaded", {}, "here", "0", 0, 0, (), None, None, "tester"
        ),
        "Space": make_space("s", ["Pa"], np.ones((1, 2)), "x"),
        "Spec": {"dataset": "bmdm", "pack": "a pack", "pack_sha256": "0" * 64},
        "Stop": Stop(dataset="d", walk="w", title="t", address="./rows?run=r"),
        "FinetuneRequest": FinetuneRequest(),
        "TrainingRequest": targets.request(),
        "EvaluationRequest": EvaluationRequest(),
        "KnnSettings": KnnSettings(("s",)),
        "EvaluationProtocol": FOLDS,
        "DatasetPriors": stage.priors,
        "KnnInputs": stage.priors.inputs,
        "ArrayLike": stage.priors.labels,
        "Track": "B",
        "RunFormat": "csv",
        "IO[bytes]": io.BytesIO(),
        "Content": cases.DEBATES,
        "bytes": b"",
        "Path": stage.elsewhere / str(time.monotonic_ns()),
        "Path | bytes": cases.DEBATES,
        "Sequence[Path]": [stage.files],
        "Sequence[FoundFile]": [FoundFile(stage.files / "debate.csv", True)],
        "Sequence[Upload]": [upload],
        "Sequence[tuple[str, Content]]": [upload],
        "tuple[str, bytes]": upload,
        "tuple[str, bytes] | None": None,
        "Callable[[str], None]": print,
        "Callable[[str], object]": print,
        "Iterable[tuple[str, str, float]]": [("a", "b", 0.5)],
        "Sequence[RunComparison]": [stage.comparison],
        "dict[Pair, float]": {("a", "b"): 0.5},
        "Mapping[str, bytes]": {"report": b"", "slides": b""},
        "Mapping[str, Any]": {},
        "Mapping[str, object]": {},
        "values": {"note": "x"},
        "planned": {},
        "bool": True,
        "int": 2,
        "dataset": dataset.id,
        "server_address": "127.0.0.1",
        "name: str | None": None,
        "kind": "experiment",
        "pair_id": spec.rows[0],
        "text": str(stage.files),
        "servers": workspace.settings.endpoint,
        "address": workspace.settings.endpoint,
        "sha256": "0" * 64,
        "real": None,
        "names": [],
        "progress": lambda _: None,
        "header": ("a", "b"),
        "columns: Mapping[str, str]": {"pert": "a"},
        **dict.fromkeys(("run", "run_name"), run.id),
        **dict.fromkeys(
            ("name", "path", "file", "content", "key", "figure", "note", "page", "walk"), "r"
        ),
        **dict.fromkeys(("sentence", "action", "task", "group", "model", "organism"), "m"),
        "method": "debate",
    }


MORE = {
    "features.importing.backups.back_up": {"replace": True},
    "features.importing.export.export": {"form": "eval"},
    "runs.component_loader.find_null": {"n": 3},
    "features.neighbours.result.numbers_of": {"permutations": 3},
}


def call(name: str, stage: Stage) -> None:
    """Call an action with what its parameters are given."""
    module, _, function = name.rpartition(".")
    action = getattr(import_module(f"core.{module}"), function)
    parameters = inspect.signature(action).parameters
    with ExitStack() as stack:
        known = arguments_by_type(stage)
        if "db" in parameters:
            known["db"] = stack.enter_context(stage.workspace.store.read())
        given = {
            each.name: next(
                known[key]
                for key in (f"{each.name}: {each.annotation}", each.annotation, each.name)
                if key in known
            )
            for each in parameters.values()
            if each.default is each.empty and each.kind is not each.VAR_KEYWORD
        }
        found = action(**{**given, **MORE.get(name, {})})
        if inspect.iscoroutine(found):
            asyncio.run(found)
        elif inspect.isgenerator(found):
            list(found)


@pytest.fixture(scope="module")
def counted() -> Iterator[ModelServer]:
    with counting() as server:
        yield server


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, counted: ModelServer) -> Stage:
    folder = tmp_path_factory.mktemp("stage")
    crashed, _ = killed_run(folder / "crashed")
    crashed = replace(
        crashed, settings=replace(crashed.settings, endpoint=counted.address, api_key=API_KEY)
    )
    full, screen = (worlds.workspace_in(folder / name) for name in ("full", "screen"))
    for name, content in {
        "train": cases.TRAIN,
        "test": cases.TEST,
        "debate": cases.DEBATES,
    }.items():
        assert imports.import_upload(full, content, f"{name}.csv").kind != "failed"
    bundle = recognise_upload(bundle_actions.build_bundle(full, "debate").content, "b.zip")
    worlds.furnish(screen)
    priors = WorkspaceComponents(screen, default_dataset(screen, None)).predict_knn(
        KnnSettings(("near",), FOLDS), None
    )
    (folder / "files").mkdir()
    (folder / "files" / "debate.csv").write_bytes(cases.DEBATES)
    return Stage(crashed, folder / "files", tmp_path_factory.mktemp("elsewhere"), bundle, priors)


def closed(stage: Stage, how: str) -> Stage:
    if how == "read-only":
        return replace(
            stage, workspace=Workspace(replace(stage.workspace.settings, read_only=True))
        )
    return replace(
        stage, workspace=stage.workspace.for_person(Person("Bob", "bob@lab.example", "reader"))
    )


def content_of(stage: Stage) -> dict[Path, bytes]:
    """Every file of the workspace and beside it, but for locks and logs."""
    files = [
        file
        for place in (stage.workspace.settings.workspace, stage.files)
        for file in place.rglob("*")
        if file.is_file()
    ]
    return {
        file: file.read_bytes() for file in files if file.suffix not in (".lock", ".log", ".holder")
    }


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["read-only", "a reader"])
def test_every_action_refuses_and_changes_nothing(stage: Stage, how: str) -> None:
    shut, before = closed(stage, how), content_of(stage)
    for name in sorted(REFUSE):
        with (
            beating(shut) if name == "runs.run_control.pause" else nullcontext(),
            pytest.raises(ReadOnly) as refused,
        ):
            call(name, shut)
        assert (
            "signed in as a reader" if how == "a reader" else "PERTURBDESK_READ_ONLY is set"
        ) in str(refused.value), name
        assert content_of(stage) == before, name


@contextmanager
def beating(stage: Stage) -> Iterator[None]:
    """As if a worker were on the run."""
    folder = stage.workspace.run_folder(stage.run.id)
    kept = folder.heartbeat.read_bytes()
    write_heartbeat(folder, Heartbeat("running", 40, Counts(), time.time()))
    yield
    folder.heartbeat.write_bytes(kept)


@pytest.mark.soak
@pytest.mark.parametrize("how", ["read-only", "a reader"])
def test_who_only_reads_changes_nothing_and_asks_no_server(
    stage: Stage, counted: ModelServer, how: str
) -> None:
    """What is raised where there is nothing to read is no matter here."""
    shut, before, others = (
        closed(stage, how),
        content_of(stage),
        psutil.Process().children(),
    )  # such as a server of another test
    for name in sorted(READ):
        with suppress(DeskError, ValueError):
            call(name, shut)
        assert content_of(stage) == before, name
        assert not counted.asked, name
        assert psutil.Process().children() == others, name
