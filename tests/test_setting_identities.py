"""Each setting says whether it changes the result: changed alone, it gives another identity if it does, and the same if not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.base.fields.record import identity_of, make, option_of, options_of, without_effect
from core.base.fields.setting import Option
from core.features.arguments import labels, readings
from core.features.arguments.readings import ReadingSettings
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import SampleRequest
from core.features.asking import actions as ask
from core.features.asking.askings import AgainRequest, plan_again
from core.features.asking.question import Question
from core.features.cells import actions as cells
from core.features.cells import predictions as cell_predictions
from core.features.cells.actions import LabelRequest
from core.features.cells.cell_formats import hash_cells
from core.features.cells.predicted_expression import CellOptions
from core.features.cells.predictions import PredictionOptions
from core.features.cells.screen import LabelSettings
from core.features.cells.simulator import ScreenSettings, simulate_screen
from core.features.experiments import ledger
from core.features.experiments.commands import CommonSettings
from core.features.experiments.ledger_table import DecisionRule
from core.features.finetune import actions as finetunes
from core.features.finetune.job_folder import FinetuneRequest, FinetuneSettings
from core.features.importing.actions import import_upload
from core.features.importing.import_target import ImportOptions
from core.features.importing.spaces import space_files
from core.features.neighbours import spaces
from core.features.neighbours.space_settings import (
    CoresponseSettings,
    NetworkSettings,
    ResponseSettings,
    TextSettings,
)
from core.features.targets import actions as target_ranking
from core.features.targets.commands import training_of
from core.features.targets.evaluate import (
    RankingEvaluationRequest,
    RankingTableRequest,
    TrainingOptions,
)
from core.features.targets.expression import read_source
from core.llm.health import Health
from core.runs import component_loader, launch
from core.runs.component_loader import default_dataset
from core.runs.component_requests import FusionRequest, KnnRequest
from core.runs.dependencies import load_pairs
from core.runs.model_servers import ChangedSettings
from core.runs.request import ModelRequest, RunRequest
from core.runs.workspace import Workspace
from core.store import predictions
from core.transfer.knn_settings import KnnSettings
from tests import worlds
from tests.cases import as_csv
from tests.fakes import scripted as scripted_server
from tests.fakes.scripted import Script
from tests.features.cells.cases import write_screen
from tests.features.neighbours.test_build import embeddings, serving
from tests.features.targets import cases as ranking_cases
from tests.moving_evidence import TOOLS
from tests.ui.test_settings import JSON_TEXTS, RECORDS, another

ROWS = 12  # of the debate, whose briefs are sorted into kinds
RUBRIC = Rubric("names-a-program", "Does the brief name a program?", pattern="program|pathway")
BASE, OTHER, OF_CELLS = "bmdm", "other", "cells"  # datasets


@dataclass(frozen=True)
class World:
    """A workspace with two datasets, runs, spaces and packs. files: by name, of what a setting names; servers: two of a model,
    embedders: two that embed by one model's name."""

    workspace: Workspace
    files: Path
    servers: tuple[str, str]
    embedders: tuple[str, str]
    row: str
    known: dict[str, Any] = field(default_factory=dict)

    def file(self, name: str) -> Path:
        return self.files / name

    def run_of(self, request: RunRequest) -> str:
        return launch.resolve(self.workspace, request).key


@dataclass(frozen=True)
class Change:
    """How one setting is changed. to: its other value. values: what goes with both. along: what goes with the other alone."""

    to: Any = None
    values: Mapping[str, Any] = field(default_factory=dict)
    along: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Made:
    """What a record makes. identity: of it, as plain data. values: of the record, beside defaults. changes: by setting, where
    `another` value does not do."""

    identity: Callable[[World, Any], Any]
    values: Callable[[World], Mapping[str, Any]] = lambda _: {}
    changes: Callable[[World], Mapping[str, Change]] = lambda _: {}
    others: Callable[[World], Mapping[str, Any]] = lambda _: {}


def _identify_question(world: World, question: Question) -> str:
    asked = ask.ask(world.workspace, question, begin=lambda _workspace, _run: None)
    return asked.run.id


def _identify_rule(world: World, rule: DecisionRule) -> Any:
    claim = ledger.claim(f"{rule.metric} {rule.smallest_effect}", "h", "p")
    entry = ledger.register(world.workspace, claim, rule, ("argued", "to come"))
    return entry.metric, entry.smallest_effect


def _identify_again(world: World, request: AgainRequest) -> Any:
    return [spec.key for _, spec in plan_again(world.workspace, request).arms]


def _identify_reading(world: World, settings: ReadingSettings) -> str:
    return _plan_reading(world, RUBRIC, settings)


def _plan_reading(world: World, rubric: Rubric, settings: ReadingSettings) -> str:
    """As if every server, under any version of its interface, served every model."""

    async def answer(*_: object) -> Health:
        return Health(True, (settings.model or "",), logprobs=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "health", answer)
        return readings.plan_reading(world.workspace, rubric, "argued", settings).spec.key


def _identify_fusion(world: World, request: FusionRequest) -> str:
    return world.run_of(component_loader.fusion_request(BASE, request.settings, request.name))


def _identify_knn(world: World, request: KnnRequest) -> str:
    dataset = default_dataset(world.workspace, request.dataset)
    return world.run_of(
        component_loader.knn_request(dataset, request.settings, request.name or "priors")
    )


def _identify_labels(world: World, request: LabelRequest) -> str:
    return cells.identify(hash_cells(world.file("cells.h5ad")), request.settings)


def _identify_prediction(world: World, options: PredictionOptions) -> str:
    dataset = default_dataset(world.workspace, options.dataset)
    pairs = tuple(load_pairs(world.workspace.store, dataset.id).values())
    return cell_predictions.identify(world.file("cells.h5ad"), dataset, pairs, options).sha256


def _identify_space(world: World, settings: Any) -> str:
    kind, options = spaces.source_of(settings)
    if isinstance(settings, CoresponseSettings):
        options = {**options, "dataset": BASE}
    spec = spaces.specify(world.workspace, kind, options, getattr(settings, "pack", None))
    return space_files.identity("space", kind, spec)


def _identify_sample(world: World, request: SampleRequest) -> str:
    assert request.size is not None
    by_pattern = readings.answers(world.workspace, RUBRIC, "argued")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readings, "answers", lambda *_: by_pattern)
        rubric = replace(RUBRIC, pattern="")
        return labels.draw_sample(
            world.workspace, rubric, "argued", request.size, request.design, request.seed
        ).id


def _identify_training(world: World, options: TrainingOptions) -> Any:
    """Its folder is named by the request's name, and is the same one only for an equal request."""
    return identity_of(training_of(options, None if options.simulate else world.file("cells.h5ad")))


def _identify_evaluation(world: World, request: RankingEvaluationRequest) -> Any:
    """The ranking in whose folder the table lies, and the table's own key."""
    folder = target_ranking.find(world.workspace, request.choice.ranking)
    return folder.name, target_ranking.evaluate_saved(
        world.workspace, folder.name, request.evaluation
    ).key


def _calls_of(world: World) -> dict[str, Change]:
    """A model's settings, which are given, and its other server."""
    return {
        "endpoint": Change(world.servers[1]),
        "leave_out": Change(("top_p",)),
        "extra_body": Change(JSON_TEXTS["extra_body"]),
        "extra_headers": Change(JSON_TEXTS["extra_headers"]),
        "top_p": Change(0.25),
    }


def _of_model(world: World) -> dict[str, Any]:
    return {"endpoint": world.servers[0], "model": "scripted"}


def _pack(kind: str) -> Callable[[World], dict[str, Change]]:
    return lambda _: {"pack": Change(f"first {kind}")}


MADE = {
    RunRequest: Made(
        lambda world, request: world.run_of(request),
        lambda world: {**_of_model(world), "dataset": BASE, "rows": "split=train;sample=3"},
        lambda world: {
            **_calls_of(world),
            "dataset": Change(OTHER),
            "rows": Change("split=train;sample=4"),
        },
        lambda _: {"method": "prompt_only"},
    ),
    Question: Made(
        _identify_question,
        lambda world: {**_of_model(world), "dataset": BASE, "method": "prompt_only"},
        lambda world: {**_calls_of(world), "dataset": Change(OTHER), "method": Change("debate")},
        lambda _: {"pert": "P0", "gene": "G0"},
    ),
    DecisionRule: Made(
        _identify_rule,
        lambda _: {"smallest_effect": 0.01},
        lambda _: {"smallest_effect": Change(0.02)},
    ),
    AgainRequest: Made(
        _identify_again,
        lambda world: {"endpoint": world.servers[0]},
        _calls_of,
        lambda world: {"run": "argued", "row": world.row},
    ),
    ReadingSettings: Made(_identify_reading, _of_model, _calls_of),
    FusionRequest: Made(
        _identify_fusion,
        lambda _: {"name": "fused", "base": "llm train", "with": ("priors",)},
        lambda _: {
            "base": Change("llm again"),
            "with": Change(("other priors",)),
            "reference_runs": Change({"priors": "other priors"}, {"reference": "train"}),
        },
    ),
    KnnRequest: Made(
        _identify_knn,
        lambda _: {"dataset": BASE, "spaces": ("near",)},
        lambda _: {
            "dataset": Change(OTHER),
            "spaces": Change(("far",)),
        },
    ),
    LabelRequest: Made(
        _identify_labels,
        lambda _: {"name": "labelled"},
        lambda world: {
            "obs": Change(world.file("other.csv")),
            "fdr": Change(0.04),
            "none_log2_fc": Change(0.3),
        },
    ),
    PredictionOptions: Made(
        _identify_prediction,
        lambda _: {"dataset": BASE},
        lambda world: {"dataset": Change(OTHER), "real": Change(world.file("other.h5ad"))},
    ),
    TextSettings: Made(
        _identify_space,
        changes=lambda world: {
            **_pack("descriptions")(world),
            "endpoint": Change(world.embedders[1], {"endpoint": world.embedders[0], "model": "m"}),
            "model": Change("m2", {"endpoint": world.embedders[0], "model": "m"}),
        },
    ),
    NetworkSettings: Made(_identify_space, changes=_pack("network")),
    ResponseSettings: Made(_identify_space, changes=_pack("lps_response")),
    CoresponseSettings: Made(_identify_space),
    FinetuneRequest: Made(
        lambda world, request: finetunes.plan(world.workspace, request).spec.key,
        lambda _: {"dataset": BASE, "options": {"parts": 2}},
        lambda world: {
            "dataset": Change(OTHER),
            "base": Change("owner/other-1B"),
            "options": Change({"parts": 2, "rank": 8}),
            "out": Change(world.file("model")),
        },
    ),
    SampleRequest: Made(
        _identify_sample, lambda _: {"sample": 5}, lambda _: {"by": Change("stratified")}
    ),
    TrainingOptions: Made(
        _identify_training,
        lambda _: {"models": ("fallen",)},
        lambda world: {
            "models": Change(("fallen_trained",)),
            "model_options": Change({"fallen.loud": "yes"}),
            "split_file": Change(world.file("split.json")),
        },
    ),
    RankingEvaluationRequest: Made(
        _identify_evaluation,
        lambda _: {"ranking": "small"},
        lambda world: {
            "ranking": Change("small-too"),
            "candidates": Change(world.file("pool.txt")),
        },
    ),
}
# Records of commands that make nothing with an identity, and why.
WITHOUT_IDENTITY = {
    CommonSettings: "they stand for those of a kind, whose identity tests/features/experiments/test_engine.py changes",
    ChangedSettings: "a run goes on with them; its identity is made from its specification, which has none of them",
    KnnSettings: "neighbours of one row are shown, not kept; kept kNNs are of KnnRequest, with the same settings",
    LabelSettings: "a file is described, and nothing of it kept; labels of it are of LabelRequest, with the same settings",
    RankingTableRequest: "a table that an evaluation made is printed; nothing is made or kept",
    ModelRequest: "the table lies under the name of the file, and --replace writes it anew; the settings are those of a reading",
}
# Records whose settings are, one by one, those of another that has an identity.
SAME_AS = {
    KnnSettings: KnnRequest,
    LabelSettings: LabelRequest,
    ModelRequest: ReadingSettings,
}


def _embed_by_model(body: dict[str, Any]) -> tuple[int, Any]:
    """Vectors that follow from the text and the name of the model."""
    seeds = [[len(body["model"]), *text.encode()] for text in body["input"]]
    return 200, embeddings([np.random.default_rng(seed).normal(size=4).tolist() for seed in seeds])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    workspace = worlds.workspace_in(tmp_path_factory.mktemp("settings"))
    files = tmp_path_factory.mktemp("files")
    with ExitStack() as stack:
        servers = tuple(stack.enter_context(scripted_server.serving(Script())) for _ in range(2))
        embedders = tuple(stack.enter_context(serving(_embed_by_model))[0] for _ in range(2))
        stack.enter_context(ranking_cases.registered())
        row = _furnish(workspace, files, servers[0])
        yield World(workspace, files, servers, embedders, row)  # type: ignore[arg-type]


def _furnish(workspace: Workspace, files: Path, server: str) -> str:
    """Bring datasets, runs, packs, spaces and files; return a row of the run "argued"."""
    screen = worlds.furnish(workspace)
    rows = list(zip(screen.ids, screen.pert, screen.gene, screen.labels, strict=True))[
        : screen.n_train - 5
    ]
    far = worlds.table_of({symbol: vector[::-1] for symbol, vector in screen.vectors.items()})
    for name, content, options in (
        ("other.csv", as_csv(["id", "pert", "gene", "label"], rows), ImportOptions(OTHER)),
        ("far.csv", far, ImportOptions()),
    ):
        assert import_upload(workspace, content, name, options).kind != "failed"
    for kind in ("descriptions", "network", "lps_response"):
        for name in (f"first {kind}", kind):
            assert import_upload(workspace, _pack_called(name, kind), f"{name}.json").kind == kind
    debated = {"tools": ",".join(TOOLS), "shots": 2, "rounds": 2}
    asked = {
        "rows": f"split=train;sample={ROWS}",
        "name": "argued",
        "model": "scripted",
        "endpoint": server,
    }
    argued = launch.start(workspace, RunRequest("debate", BASE, debated, **asked))  # type: ignore[arg-type]
    assert argued.status == "done", argued.cause
    again = worlds.llm(screen.ids[: screen.n_train], seed=2)
    assert (
        import_upload(workspace, again, "again.csv", ImportOptions("llm again", BASE)).kind
        != "failed"
    )
    for name, space in (("priors", "near"), ("other priors", "far")):
        launch.start(
            workspace,
            component_loader.knn_request(
                default_dataset(workspace, BASE), KnnSettings((space,)), name
            ),
        )
    for name in ("small", "small-too"):
        target_ranking.train(workspace, ranking_cases.request(name), lambda _: None)
    _write_files(workspace, files)
    _predict_cells(workspace, files / "cells.h5ad")
    with workspace.store.read() as db:
        return str(predictions.frame(db, argued.id)["pair_id"].iloc[0])


def _pack_called(name: str, kind: str) -> bytes:
    """A pack with a blank for each letter of its name, so that no two are one file."""
    return worlds.pack(kind) + b" " * len(name)


def _predict_cells(workspace: Workspace, path: Path) -> None:
    """Write a file of cells, and make the runs "model" and "ranks" of it."""
    screen = simulate_screen(
        ScreenSettings(n_cells=120, n_genes=20, n_perturbations=3, depth=10), 0
    )
    write_screen(screen, path)
    truth = screen.true_log2_fc
    rows = [
        (f"{p}_{g}", p, g, "up" if truth.loc[p, g] else "none")
        for p in truth.index
        for g in truth.columns
    ]
    content = as_csv(["id", "pert", "gene", "label"], rows)
    assert import_upload(workspace, content, "train.csv", ImportOptions(OF_CELLS)).kind != "failed"
    options = PredictionOptions(OF_CELLS, "model", CellOptions(perturbation="perturbation"))
    for each in (options, replace(options, name="ranks", rank_only=True)):
        cell_predictions.import_predictions(workspace, path, each)


def _write_files(workspace: Workspace, files: Path) -> None:
    for name in ("other.h5ad", "other.csv"):  # they are known by their content alone
        (files / name).write_text(name)
    ranking = target_ranking.find(workspace, "small")
    (files / "pool.txt").write_text(
        "\n".join(read_source(ranking.request().source).cells.genes[:40])
    )
    split = {
        "train_conditions": ["A"],
        "val_conditions": ["B"],
        "test_conditions": ["C"],
        "unseen_genes": [],
        "seed": 0,
    }
    (files / "split.json").write_text(json.dumps(split))


def _changed(option: Option, made: Made, world: World) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a record's values, and the same with another value of one setting."""
    change = made.changes(world).get(option.name, Change())
    before = {**made.values(world), **change.values}
    return before, {
        **before,
        **change.along,
        option.name: another(option) if change.to is None else change.to,
    }


def _identity(record: type, values: Mapping[str, Any], world: World) -> Any:
    made = MADE[record]
    return made.identity(world, make(record, values, **made.others(world)))


def _identity_once(record: type, values: Mapping[str, Any], world: World) -> Any:
    """The same, looked up where many settings are changed from these values."""
    key = f"{record.__name__} {values}"
    if key not in world.known:
        world.known[key] = _identity(record, values, world)
    return world.known[key]


@pytest.mark.few(20)
@pytest.mark.parametrize(
    ("record", "name"),
    [(record, option.name) for record in MADE for option in options_of(record)],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_a_setting_changes_the_identity_exactly_if_it_says_so(
    record: type, name: str, world: World
) -> None:
    option = option_of(record, name)
    before, after = _changed(option, MADE[record], world)
    assert before.get(name, option.default) != after[name]
    present = _identity_once(
        record, before, world
    )  # first: a question is only asked again once it was asked
    assert (_identity(record, after, world) != present) == option.about.changes_result


@pytest.mark.parametrize("record", MADE, ids=lambda record: record.__name__)
def test_equal_settings_have_one_identity(record: type, world: World) -> None:
    values = MADE[record].values(world)
    assert _identity(record, values, world) == _identity_once(record, values, world)


@pytest.mark.few(5)
@pytest.mark.parametrize("option", options_of(FinetuneSettings), ids=lambda option: option.name)
def test_an_option_of_a_finetune_changes_its_identity_exactly_if_it_says_so(
    option: Option, world: World
) -> None:
    values = MADE[FinetuneRequest].values(world)
    value = {"epochs": 2.0, "length": 512}.get(option.name, another(option))
    other = {**values, "options": {**values["options"], option.name: value}}
    changes = _identity(FinetuneRequest, other, world) != _identity_once(
        FinetuneRequest, values, world
    )
    assert changes == option.about.changes_result


@pytest.mark.parametrize("option", options_of(Rubric), ids=lambda option: option.name)
def test_a_setting_of_a_rubric_changes_its_hash_exactly_if_it_says_so(option: Option) -> None:
    values = {"name": "n", "question": "q?"}
    other = make(Rubric, {**values, option.name: another(option)})
    assert (other.sha256 != make(Rubric, values).sha256) == option.about.changes_result


def test_no_setting_that_a_run_goes_on_with_changes_its_result() -> None:
    assert without_effect(ChangedSettings) == {
        option.name for option in options_of(ChangedSettings)
    }


def test_every_record_has_an_identity_or_a_reason() -> None:
    assert set(MADE) | set(WITHOUT_IDENTITY) == {
        *RECORDS,
        AgainRequest,
    }  # which no command asks for
    assert not set(MADE) & set(WITHOUT_IDENTITY)
    assert all(len(reason.split()) > 3 for reason in WITHOUT_IDENTITY.values())
    for record, same in SAME_AS.items():
        assert [
            option.name for option in options_of(record) if option not in options_of(same)
        ] == []
