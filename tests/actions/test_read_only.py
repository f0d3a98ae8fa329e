"""Every action that changes something refuses in a workspace that is read-only, and to a reader. The modules are searched for
such actions, so that a new one cannot be forgotten here."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.actions import (
    ask,
    ask_again,
    attribution,
    backups,
    benchmark_ledger,
    benchmark_process,
    benchmarks,
    bundles,
    cell_evaluation,
    cell_jobs,
    cell_predictions,
    cells,
    demo,
    expectations,
    export,
    finetunes,
    gene_sets,
    imports,
    inspect_log,
    jobs,
    label_files,
    labels,
    launch,
    ledger,
    page_imports,
    prompt_files,
    readings,
    reports,
    rubric_ledger,
    rubrics,
    run_control,
    run_states,
    run_to_end,
    runs,
    site,
    spaces,
    submissions,
    target_process,
    target_ranking,
    undo,
)
from core.actions.ask_again import AgainPlan
from core.actions.attribution import AttributionPlan
from core.actions.cell_evaluation import EvaluationOptions
from core.actions.cell_predictions import PredictionOptions
from core.actions.component_loader import WorkspaceComponents, default_dataset
from core.actions.files import BundleFile, FoundFile, recognise_upload
from core.actions.import_target import ImportOptions
from core.actions.submissions import PackageOptions
from core.actions.workspace import Person, Workspace, open_workspace
from core.audit.rubric import Rubric
from core.cells.screen import LabelSettings
from core.config import REPOSITORY, Settings
from core.datasets.prompt_files import PromptFile
from core.engine.request import Expectation, RunRequest
from core.engine.run_state import Counts, Heartbeat, write_heartbeat
from core.errors import ReadOnly
from core.experiments.attribution_arms import AttributionSpec
from core.experiments.benchmark_spec import parse_benchmark
from core.store import runs as stored_runs
from core.store.hypotheses import Entry
from core.store.rubrics import TextLabel
from core.store.runs import Run
from core.target_ranking.evaluate import EvaluationSettings
from tests import cases
from tests.engine.cases import fast
from tests.engine.killed import killed_run
from tests.target_ranking import cases as targets

BENCHMARK = (REPOSITORY / "docs" / "examples" / "llm_against_llm_knn.toml").read_text("utf-8")
RUBRIC, LABEL = Rubric("q", "Is it?"), TextLabel("Pa_Ga", 0, "EFFECT", "yes", "Ada")
ATTRIBUTION = AttributionPlan(AttributionSpec("r", "r", "bmdm", ("a",), ("gene_class",), 1), (), Expectation(0))
AGAIN = AgainPlan(SimpleNamespace(name="r"), "a", (), (), Expectation(0))  # type: ignore[arg-type]
ACTIONS = REPOSITORY / "core" / "actions"
GUARDS = ("change", "refuse_if_read_only")


def functions_in(file: Path) -> dict[str, set[str]]:
    """ "module.function" → what it calls, as "module.function"; the guards of a workspace are "workspace.change" and so on."""
    tree = ast.parse(file.read_text("utf-8"))
    origin = {
        alias.asname or alias.name: f"{node.module.rpartition('.')[2]}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("core.actions.")
        for alias in node.names
    }
    rooms = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "core.actions"
        for alias in node.names
    } | {"workspace": "workspace"}
    found = {}
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
        calls = set()
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in rooms:
                calls.add(f"{rooms[node.value.id]}.{node.attr}")
            elif isinstance(node, ast.Name):
                calls.add(origin.get(node.id, f"{file.stem}.{node.id}"))
        found[f"{file.stem}.{function.name}"] = calls
    return found


def changing_actions() -> set[str]:
    """Every public function that asks whether it may change something, by itself or through another action."""
    functions = {name: calls for file in ACTIONS.glob("*.py") for name, calls in functions_in(file).items()}
    guarded = {name for name, calls in functions.items() if calls & {f"workspace.{guard}" for guard in GUARDS}}
    while more := {name for name, calls in functions.items() if calls & guarded} - guarded:
        guarded |= more
    return {name for name in guarded if not name.partition(".")[2].startswith("_")}


@dataclass(frozen=True)
class Stage:
    """What the actions are called with. crashed: a workspace with a run "r" of which the store does not know that it is dead;
    plain: one with two splits and no run; bundle: a run of those."""

    crashed: Workspace
    plain: Workspace
    bundle: BundleFile
    files: Path


# Each gets a stage whose workspaces are closed, and a crashed run where its arguments need one.
CALLS: Mapping[str, Callable[[Stage], object]] = {
    "ask_again.ask_again": lambda s: ask_again.ask_again(s.plain, AGAIN),
    "ask_again.start_apart": lambda s: ask_again.start_apart(s.plain, AGAIN),
    "ask.ask": lambda s: ask.ask(s.plain, ask.Question("Pa", "Ga")),
    "ask.resume": lambda s: ask.resume(s.crashed, "r"),
    "ask.watch": lambda s: ask.watch(s.crashed, run_of(s).id),
    "attribution.run_attribution": lambda s: attribution.run_attribution(s.plain, ATTRIBUTION),
    "attribution.save_attribution": lambda s: attribution.save_attribution(s.plain, ATTRIBUTION),
    "attribution.start_apart": lambda s: attribution.start_apart(s.plain, ATTRIBUTION),
    "backups.restore": lambda s: backups.restore(s.plain, s.files / "b.zip"),
    "benchmark_ledger.record_result": lambda s: benchmark_ledger.record_result(
        s.plain, parse_benchmark(BENCHMARK), "bmdm", (), {}
    ),
    "benchmark_ledger.register_hypothesis": lambda s: benchmark_ledger.register_hypothesis(
        s.plain, parse_benchmark(BENCHMARK), "bmdm", {}
    ),
    "benchmarks.delete_benchmark": lambda s: benchmarks.delete_benchmark(s.plain, "b"),
    "benchmarks.record_result": lambda s: benchmarks.record_result(
        s.plain, benchmarks.SavedBenchmark(parse_benchmark(BENCHMARK), "bmdm", (), {})
    ),
    "benchmarks.run_benchmark": lambda s: benchmarks.run_benchmark(s.plain, parse_benchmark(BENCHMARK)),
    "benchmarks.save_benchmark": lambda s: benchmarks.save_benchmark(s.plain, parse_benchmark(BENCHMARK)),
    "benchmark_process.start_apart": lambda s: benchmark_process.start_apart(s.plain, parse_benchmark(BENCHMARK)),
    "bundles.build_bundle": lambda s: bundles.build_bundle(s.crashed, "r"),
    "bundles.import_bundle": lambda s: bundles.import_bundle(s.plain, s.bundle, "b.zip", ImportOptions()),
    "bundles.settle_run": lambda s: bundles.settle_run(s.crashed, "r"),
    "bundles.write_bundle_file": lambda s: bundles.write_bundle_file(s.crashed, "r", s.files / "out.zip"),
    "cell_jobs.start_labels": lambda s: cell_jobs.start_labels(s.plain, "screen.h5ad", "s", LabelSettings(), None),
    "cells.label_cells": lambda s: cells.label_cells(s.plain, s.files / "screen.h5ad", "s", LabelSettings(), print),
    "cell_evaluation.evaluate_predictions": lambda s: cell_evaluation.evaluate_predictions(
        s.plain, s.files / "p.h5ad", EvaluationOptions(run="r")
    ),
    "cell_predictions.import_predictions": lambda s: cell_predictions.import_predictions(
        s.plain, s.files / "p.csv", PredictionOptions()
    ),
    "cell_predictions.import_uploaded": lambda s: cell_predictions.import_uploaded(
        s.plain, ("p.csv", b"pert,gene,z\n"), None, PredictionOptions()
    ),
    "demo.make_demo": lambda s: demo.make_demo(s.plain),
    "expectations.expect": lambda s: expectations.expect(s.crashed, "r", "Pa_Ga", "up"),
    "export.export": lambda s: export.export(s.crashed, "r", "eval"),
    "cell_jobs.resume": lambda s: cell_jobs.resume(s.plain, "none"),
    "jobs.resume": lambda s: jobs.resume(s.plain, jobs.folder_of(s.plain, "cells", "none")),
    "finetunes.resume": lambda s: finetunes.resume(s.plain),
    "finetunes.start": lambda s: finetunes.start(s.plain, finetunes.FinetuneRequest()),
    "finetunes.stop": lambda s: finetunes.stop(s.plain, "0"),
    "gene_sets.summarise_gene_sets": lambda s: gene_sets.summarise_gene_sets(s.plain, s.files / "sets.json"),
    "imports.fetch_and_import": lambda s: imports.fetch_and_import(s.plain, "challenge"),
    "imports.import_files": lambda s: imports.import_files(s.plain, [FoundFile(s.files / "debate.csv", True)], ImportOptions()),
    "imports.import_paths": lambda s: imports.import_paths(s.plain, [s.files]),
    "imports.import_space": lambda s: imports.import_space(s.plain, s.files / "space.csv", "s"),
    "imports.import_upload": lambda s: imports.import_upload(s.plain, cases.DEBATES, "d.csv"),
    "imports.import_uploads": lambda s: imports.import_uploads(s.plain, [("d.csv", cases.DEBATES)]),
    "inspect_log.build_log": lambda s: inspect_log.build_log(s.crashed, "r"),
    "label_files.import_csv": lambda s: label_files.import_csv(s.crashed, RUBRIC, "r", b"", "l.csv"),
    "labels.draw_sample": lambda s: labels.draw_sample(s.crashed, RUBRIC, "r", 5),
    "labels.give_label": lambda s: labels.give_label(s.crashed, RUBRIC, "r", LABEL),
    "labels.give_labels": lambda s: labels.give_labels(s.crashed, RUBRIC, "r", [LABEL]),
    "labels.take_back": lambda s: labels.take_back(s.crashed, RUBRIC, "r", LABEL),
    "launch.start": lambda s: launch.start(s.plain, RunRequest("evidence_rules", "bmdm")),
    "ledger.add_once": lambda s: ledger.add_once(
        s.plain, "record result", Entry(kind="result", name="h", hypothesis="it helps", source="here")
    ),
    "ledger.import_file": lambda s: ledger.import_file(s.plain, b"", "l.csv"),
    "ledger.import_published_ladder": lambda s: ledger.import_published_ladder(s.plain),
    "ledger.record_result": lambda s: ledger.record_result(s.plain, "h", ledger.Recording()),
    "rubric_ledger.record_result": lambda s: rubric_ledger.record_result(s.plain, "h"),
    "rubric_ledger.register": lambda s: rubric_ledger.register(
        s.plain, rubric_ledger.RubricRegistration("h", "it helps", "it rises", "r", "r")
    ),
    "ledger.register": lambda s: ledger.register(s.plain, ledger.Registration("h", "it helps", "it rises")),
    "page_imports.import_path": lambda s: page_imports.import_path(s.plain, str(s.files), ImportOptions(), "127.0.0.1"),
    "page_imports.import_predictions": lambda s: page_imports.import_predictions(
        s.plain, str(s.files), None, PredictionOptions(), "127.0.0.1"
    ),
    "prompt_files.keep": lambda s: prompt_files.keep(s.plain, PromptFile("p.csv", b"id,prompt\na,b\n")),
    "readings.start_reading": lambda s: readings.start_reading(s.plain, Rubric("a", "Is it?"), "debate"),
    "reports.delete_report": lambda s: reports.delete_report(s.plain, "r"),
    "reports.save_report": lambda s: reports.save_report(s.plain, "r", {}),
    "rubrics.add": lambda s: rubrics.add(s.plain, Rubric("names-a-pathway", "Does it name one?")),
    "rubrics.add_file": lambda s: rubrics.add_file(s.plain, s.files / "rubric.toml"),
    "run_control.cancel": lambda s: run_control.cancel(s.crashed, "r"),
    "run_control.pause": lambda s: run_control.pause(s.crashed, "r"),
    "run_control.resume": lambda s: run_control.resume(s.crashed, "r"),
    "run_control.retry": lambda s: run_control.retry(s.crashed, "r"),
    "run_control.settle": lambda s: run_control.settle(s.crashed, "r"),
    "run_control.start": lambda s: run_control.start(s.crashed, s.crashed.run_folder(run_of(s).id).spec(), "n", fast()),
    "run_control.work_on": lambda s: run_control.work_on(s.crashed, "r"),
    "run_to_end.run_to_end": lambda s: run_to_end.run_to_end(
        s.crashed,
        RunRequest("evidence_rules", name="r"),
        s.crashed.run_folder(run_of(s).id).spec(),
        components=WorkspaceComponents(s.crashed, default_dataset(s.crashed, None)),
    ),
    "runs.add_figure_note": lambda s: runs.add_figure_note(s.crashed, "r", "a figure", "debates", "text"),
    "runs.add_note": lambda s: runs.add_note(s.crashed, "r", None, "text"),
    "runs.delete": lambda s: runs.delete(s.crashed, "r"),
    "runs.delete_note": lambda s: runs.delete_note(s.crashed, "n"),
    "runs.delete_preset": lambda s: runs.delete_preset(s.crashed, "debates", "p"),
    "runs.rename": lambda s: runs.rename(s.crashed, "r", "other"),
    "runs.save_preset": lambda s: runs.save_preset(s.crashed, "debates", "p", {}),
    "runs.set_values": lambda s: runs.set_values(s.crashed, "r", {"note": "x"}),
    "site.build_site": lambda s: site.build_site(s.crashed, "r"),
    "site.write_site": lambda s: site.write_site(s.crashed, "r", s.files / "site"),
    "spaces.delete": lambda s: spaces.delete(s.plain, "s"),
    "spaces.embed": lambda s: spaces.embed(s.plain, "coresponse", "s", {"dataset": "bmdm"}),
    "submissions.package": lambda s: submissions.package(s.crashed, "r", PackageOptions("B"), s.files / "out.zip"),
    "target_process.resume": lambda s: target_process.resume(s.plain, "t"),
    "target_process.start_apart": lambda s: target_process.start_apart(s.plain, targets.request()),
    "target_process.train": lambda s: target_process.train(s.plain, targets.request(), print),
    "target_process.work_on": lambda s: target_process.work_on(s.plain, "t", print),
    "target_ranking.create": lambda s: target_ranking.create(s.plain, targets.request()),
    "target_ranking.delete": lambda s: target_ranking.delete(s.plain, "t"),
    "target_ranking.evaluate_saved": lambda s: target_ranking.evaluate_saved(s.plain, "t", EvaluationSettings()),
    "undo.undo": lambda s: undo.undo(s.plain, "train.csv"),
}
# These do nothing instead: they are not asked for by a person, but done on the way.
SILENT: Mapping[str, Callable[[Stage], object]] = {"run_states.settle_ended": lambda s: run_states.settle_ended(s.crashed)}


def run_of(stage: Stage) -> Run:
    with stage.crashed.store.read() as db:
        return stored_runs.find(db, "r")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    folder = tmp_path_factory.mktemp("stage")
    crashed, _ = killed_run(folder / "crashed")
    plain, full = (open_workspace(Settings(workspace=folder / name, author="tester")) for name in ("plain", "full"))
    for workspace, files in ((plain, ("train", "test")), (full, ("train", "test", "debate"))):
        for name in files:
            content = {"train": cases.TRAIN, "test": cases.TEST, "debate": cases.DEBATES}[name]
            assert imports.import_upload(workspace, content, f"{name}.csv").kind != "failed"
    bundle = recognise_upload(bundles.build_bundle(full, "debate").content, "b.zip")
    assert isinstance(bundle, BundleFile)
    (folder / "files").mkdir()
    (folder / "files" / "debate.csv").write_bytes(cases.DEBATES)
    return Stage(crashed, plain, bundle, folder / "files")


def closed(workspace: Workspace, how: str) -> Workspace:
    if how == "read-only":
        return Workspace(replace(workspace.settings, read_only=True))
    return workspace.used_by(Person("Bob", "bob@lab.example", "reader"))


def content_of(stage: Stage) -> dict[Path, bytes]:
    """Every file of both workspaces and beside them, but for locks and logs."""
    places = (stage.crashed.settings.workspace, stage.plain.settings.workspace, stage.files)
    files = [file for place in places for file in place.rglob("*") if file.is_file()]
    return {file: file.read_bytes() for file in files if file.suffix not in (".lock", ".log", ".holder")}


@pytest.mark.parametrize("how", ["read-only", "a reader"])
def test_every_action_refuses_and_changes_nothing(stage: Stage, how: str) -> None:
    shut = replace(stage, crashed=closed(stage.crashed, how), plain=closed(stage.plain, how))
    before = content_of(stage)
    for name, call in CALLS.items():
        with beating(shut) if name == "run_control.pause" else nullcontext(), pytest.raises(ReadOnly) as refused:
            call(shut)
        assert ("signed in as a reader" if how == "a reader" else "PERTURBDESK_READ_ONLY is set") in str(refused.value), name
        assert content_of(stage) == before, name
    for name, call in SILENT.items():
        call(shut)
        assert content_of(stage) == before, name


@contextmanager
def beating(stage: Stage) -> Iterator[None]:
    """As if a worker were on the run."""
    folder = stage.crashed.run_folder(run_of(stage).id)
    kept = folder.heartbeat.read_bytes()
    write_heartbeat(folder, Heartbeat("running", Counts(), 40, 0, time.time()))
    yield
    folder.heartbeat.write_bytes(kept)


def test_no_changing_action_is_forgotten() -> None:
    """A new one needs a call above."""
    assert changing_actions() == CALLS.keys() | SILENT.keys()
