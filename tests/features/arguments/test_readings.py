"""Readings of a run's texts by a model: planned, started, interrupted, found; and kept apart from predictions everywhere."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import pandas as pd
import pytest

from core.base.errors import InputError, NotFound, StateError
from core.base.types import READING_METHODS
from core.evidence.packs import Packs
from core.evidence.sources import SourceSettings
from core.features.arguments import readings, rubric_tables
from core.features.arguments.methods.judge_rubric import (
    JudgeRubric,
    dossier_of,
    messages_of,
    reading_options,
)
from core.features.arguments.readings import ReadingSettings
from core.features.arguments.rubric import Rubric
from core.features.experiments.ideas.idea import load_material
from core.features.importing import bundle_actions, export
from core.features.importing.actions import import_upload
from core.methods.base import method_named
from core.runs import launch, run_control
from core.runs.dependencies import Dependencies, build_context, load_pairs, load_texts
from core.runs.request import RunRequest
from core.runs.workspace import Workspace, open_workspace
from core.store import evidence, predictions, runs, text_search
from core.store.text_search import TextQuery
from tests import commands, worlds
from tests.bundled import stored
from tests.cases import submission
from tests.fakes.scripted import Script, request_counts, serving
from tests.runs.cases import run_named
from tests.runs.jobs.crashed import as_if_killed

RUBRIC = Rubric("names-a-program", "Does the brief name a program?")
ROWS, TEXTS = 3, 12  # of the debate: its fourth row has no trace


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory, server: str) -> Workspace:
    """A debate on four rows and its reading, "reading", shared: tests only look at it."""
    workspace = worlds.workspace_in(tmp_path_factory.mktemp("read") / "workspace")
    worlds.import_small(workspace)
    readings.start_reading(workspace, RUBRIC, "debate", ReadingSettings("reading", endpoint=server))
    return workspace


def copy_of(workspace: Workspace, folder: Path) -> Workspace:
    """The same workspace, to change."""
    shutil.copytree(workspace.settings.workspace, folder / "copy")
    return open_workspace(replace(workspace.settings, workspace=folder / "copy"))


@pytest.mark.soak
def test_a_reading_is_a_run_of_the_rows_with_texts(read: Workspace) -> None:
    run, parent = run_named(read, "reading"), run_named(read, "debate")
    assert run.is_reading
    assert not parent.is_reading
    assert (run.status, run.done, run.failed, run.total, run.expected_calls) == (
        "done",
        ROWS,
        0,
        ROWS,
        TEXTS,
    )
    assert (run.parents, run.model, run.fallbacks) == ((parent.id,), "scripted", 0)
    with read.store.read() as db:
        rows, texts = predictions.frame(db, run.id), rubric_tables.texts(db, parent.id, RUBRIC)
    numbers = ["prediction_up", "prediction_down", "p_de", "p_up_given_de"]
    assert rows[numbers].isna().all(axis=None)
    found, who = readings.answers(read, RUBRIC, "debate", "model")
    assert who == run.id
    assert list(found) == ["pair_id", "seq", "role", "stage", "answer", "p", "passage"]
    keys = ["pair_id", "seq", "role", "stage"]
    pd.testing.assert_frame_equal(
        found[keys].sort_values(keys, ignore_index=True),
        texts[keys].sort_values(keys, ignore_index=True),
        check_dtype=False,
    )
    assert set(found["answer"]) <= {"yes", "no"}
    assert found["p"].between(0, 1).all()


def test_the_same_reading_is_found_and_another_seed_is_another(
    read: Workspace, server: str
) -> None:
    def plan(run, **chosen):
        return readings.plan_reading(read, RUBRIC, run, ReadingSettings(endpoint=server, **chosen))

    same = readings.start_reading(
        read, RUBRIC, "debate", ReadingSettings("other name", endpoint=server)
    )
    assert (same.name, same.id) == ("reading", plan("debate").spec.key)
    assert plan(run_named(read, "debate").id).spec.key == same.id
    others = [
        plan("debate", seed=1),
        plan("debate", effort="low"),
        plan("debate", passage=True),
        readings.plan_reading(
            read, replace(RUBRIC, question="Does it?"), "debate", ReadingSettings(endpoint=server)
        ),
    ]
    assert len({same.id, *(other.spec.key for other in others)}) == 5
    assert plan("debate").request.name == "names-a-program of debate by scripted"


@pytest.mark.soak
def test_what_it_costs_is_said_beforehand(read: Workspace, tmp_path: Path) -> None:
    """The first time the answers' reasoning is not known; then answers are as long as those of earlier readings."""
    workspace = copy_of(read, tmp_path)
    workspace = open_workspace(replace(workspace.settings, price_prompt=1.0, price_completion=10.0))
    for name, is_first in (("again", False), ("unknown", True)):
        with serving(Script(reasoning=None if is_first else "reasoning")) as url:
            rubric = replace(RUBRIC, question=f"Is it {name}?")
            if is_first:
                delete_readings(workspace)
            plan = readings.plan_reading(workspace, rubric, "debate", ReadingSettings(endpoint=url))
            said, before = readings.estimate(workspace, plan), request_counts(url)["tokens"]
            readings.start_reading(workspace, rubric, "debate", plan=plan)
            tokens = request_counts(url)["tokens"] - before
        expected = said.expected
        assert (said.texts, expected.calls) == (TEXTS, TEXTS)
        assert 0.5 < (expected.prompt_tokens + (expected.completion_tokens or 0)) / tokens < 2
        is_unknown = expected.completion_tokens is expected.seconds is expected.money is None
        assert is_unknown == is_first
        if expected.completion_tokens is not None:
            money = (expected.prompt_tokens + 10 * expected.completion_tokens) / 1e6
            assert expected.money == pytest.approx(money)


@pytest.mark.soak
def test_the_passages_of_finished_readings_are_found_by_row(
    read: Workspace, server: str, tmp_path: Path
) -> None:
    workspace = copy_of(read, tmp_path)
    settings = ReadingSettings("marked", passage=True)
    plan = readings.plan_reading(workspace, RUBRIC, "debate", replace(settings, endpoint=server))
    started = readings.start_reading(workspace, RUBRIC, "debate", plan=plan)
    run = run_named(workspace, "debate")
    with workspace.store.read() as db:
        found = {
            row: rubric_tables.passages(db, run.id, row) for row in predictions.all_ids(db, run.id)
        }
        texts = rubric_tables.texts(db, run.id, RUBRIC)
    marked = rubrics_of(workspace, "marked")
    assert sum(map(len, found.values())) == marked["passage"].ne("").sum() > 0
    contents = {(text.pair_id, text.stage, text.role): text.content for text in texts.itertuples()}
    assert all(
        each.text in contents[row, each.stage, each.role]
        for row, of_row in found.items()
        for each in of_row
    )
    assert {each.rubric for of_row in found.values() for each in of_row} == {RUBRIC.name}
    with workspace.change("test", "status") as (db, _):
        runs.change_by_worker(db, started.id, status="stopped")
    with workspace.store.read() as db:
        assert not any(
            rubric_tables.passages(db, run.id, row) for row in found
        )  # what is not finished says nothing yet


def rubrics_of(workspace: Workspace, reading: str) -> pd.DataFrame:
    return readings.answers(workspace, RUBRIC, "debate", reading=reading)[0]


def delete_readings(workspace: Workspace) -> None:
    with workspace.change("test", "readings") as (db, _):
        for run in runs.list_all(db):
            if run.is_reading:
                runs.delete(db, run.id)


@pytest.mark.soak
def test_an_interrupted_reading_goes_on_and_asks_nothing_twice(
    read: Workspace, tmp_path: Path
) -> None:
    workspace = copy_of(read, tmp_path)
    rubric = replace(RUBRIC, question="Is it interrupted?")
    with serving() as url:
        settings = ReadingSettings("part", concurrency=1, token_budget=1)
        part = readings.start_reading(workspace, rubric, "debate", replace(settings, endpoint=url))
        assert (part.status, part.done) == ("budget", 0)  # its first row asks for several texts
        with pytest.raises(
            NotFound, match="no finished reading of run debate by a model \\(part is budget\\)"
        ):
            readings.answers(workspace, rubric, "debate")
        execution = replace(run_control.settings_of(workspace, part.id), token_budget=None)
        resumed = run_control.resume(
            workspace, part.id, settings=execution, begin=run_control.work_on
        )
        assert (resumed.status, resumed.done) == ("done", ROWS)
        assert request_counts(url)["/v1/chat/completions"] == TEXTS + 1  # one of the health check
        whole = copy_of(read, tmp_path / "whole")
        undisturbed = readings.start_reading(whole, rubric, "debate", ReadingSettings(endpoint=url))
    ours, theirs = (
        readings.answers(workspace, rubric, "debate")[0],
        readings.answers(whole, rubric, "debate")[0],
    )
    pd.testing.assert_frame_equal(ours, theirs)
    assert undisturbed.id == resumed.id


def test_only_a_finished_run_with_texts_is_read(
    read: Workspace, server: str, tmp_path: Path
) -> None:
    workspace = copy_of(read, tmp_path)
    plan = partial(readings.plan_reading, workspace, settings=ReadingSettings(endpoint=server))
    import_upload(workspace, submission([("Pa_Ga", 0.3, 0.1, "none")]), "mute.csv")
    with pytest.raises(InputError, match="run mute has no brief that it asks about"):
        plan(RUBRIC, "mute")
    with pytest.raises(InputError, match="needs dossiers, but run debate has none"):
        plan(replace(RUBRIC, dossier=True), "debate")
    with pytest.raises(InputError, match="reading: a reading of texts by judge_rubric"):
        plan(RUBRIC, "reading")
    with pytest.raises(NotFound):
        plan(RUBRIC, "nobody")
    with workspace.change("test", "status") as (db, _):
        runs.change_by_worker(db, run_named(workspace, "debate").id, status="stopped")
    with pytest.raises(
        StateError, match="run debate: stopped, 0 of 4 rows are missing; expected a finished run"
    ):
        plan(RUBRIC, "debate")


def test_answers_are_the_rule_s_or_a_reading_s(read: Workspace) -> None:
    with pytest.raises(InputError, match="neither rule nor pattern"):
        readings.answers(read, RUBRIC, "debate", "rule")
    with pytest.raises(
        NotFound, match="no finished reading of run debate by a model \\(there is none\\)"
    ):
        readings.answers(read, replace(RUBRIC, question="Else?"), "debate", "model")
    with pytest.raises(
        InputError,
        match="no reading of debate for the present wording of the rubric names-a-program",
    ):
        readings.answers(read, replace(RUBRIC, question="Else?"), "debate", reading="reading")
    named, _ = readings.answers(read, RUBRIC, run_named(read, "debate"), reading="reading")
    assert len(named) == TEXTS
    with read.store.read() as db:
        assert readings.list_readings(db, RUBRIC, run_named(read, "debate").id)[0].name == "reading"
        assert readings.list_readings(db, RUBRIC, run_named(read, "reading").id) == []
    assert readings.rubric_of(run_named(read, "reading")) == RUBRIC


def test_a_reader_is_told_that_a_reading_crashed(read: Workspace) -> None:
    reader = read.for_reading("a test only reads")
    said = "no finished reading of run debate by a model \\(reading is crashed\\)"
    with as_if_killed(read, run_named(read, "reading")), pytest.raises(NotFound, match=said):
        readings.answers(reader, RUBRIC, "debate", "model")


@pytest.mark.soak
def test_a_reading_is_among_runs_and_not_among_predictions(read: Workspace) -> None:
    debate, reading = run_named(read, "debate"), run_named(read, "reading")
    with read.store.read() as db:
        assert reading.id in {run.id for run in runs.list_all(db)}
        assert [run.name for run in runs.list_predicting(db)] == ["debate"]
        assert runs.find_predicting(db, "debate") == debate
        assert predictions.runs_with(db, debate.dataset, "Pa_Ga") == [debate.id]
        assert predictions.row_and_runs(db, debate.id, "Pa_Ga")[1] == [
            debate.id
        ]  # a reading has the row, and predicts nothing
        assert reading.id not in predictions.shared_row_counts(db, debate.id)
        assert set(predictions.rows_of_symbol(db, debate.dataset, "pert", "Pa")["run"]) == {
            debate.id
        }
        assert text_search.search(db, debate.dataset, TextQuery("answer")).texts == 0
    assert [run.name for run in load_material(read, None).runs] == ["debate"]
    listed = {run["name"]: run["method"] for run in commands.core_json(read, "runs")["runs"]}
    assert listed["reading"] == READING_METHODS[0]
    leakage = commands.core_json(read, "audit", "leakage")
    assert "reading" not in json.dumps(leakage)


REFUSED = "run reading: a reading of texts by judge_rubric, without predictions; expected a run that predicts"


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "command",
    [
        "score reading",
        "compare debate reading",
        "controls reading",
        "fuse --base reading --with debate --w-de 0.5 --w-dir 0.5 --name f",
        "fuse --base debate --with reading --w-de 0.5 --w-dir 0.5 --name f",
        "fuse --from debate --base reading --w-de 0.5 --w-dir 0.5 --name f",
        "package reading --track B --out x.zip",
        "report site reading --out x",
        "export reading --format eval --out x.eval",
        "runs set reading public_score=0.5",
        "report new r --runs reading",
    ],
)
def test_every_command_on_predictions_says_that_it_has_none(
    read: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = commands.core(read, command)
    assert (done.status, done.err.strip().splitlines()[-1].removeprefix("error: ")) == (
        1,
        REFUSED,
    ), done.err
    assert not list(tmp_path.iterdir())


def test_it_is_started_with_a_rubric_alone(read: Workspace, server: str) -> None:
    options = reading_options(RUBRIC, "debate")
    with pytest.raises(InputError, match="start it with `rubric run NAME RUN --judge model`"):
        launch.start(read, RunRequest("judge_rubric", options=options, endpoint=server))
    for given, words in (
        ({"labels": "all"}, "no effect on judge_rubric"),
        ({"rows": ("Pc_Gc",)}, "not in the dataset"),
    ):
        with pytest.raises((InputError, NotFound), match=words):
            launch.resolve(
                read, RunRequest("judge_rubric", options=options, model="scripted", **given)
            )
    for wrong in ({**options, "rubric": "names-a-program"}, {**options, "run": ""}):
        with pytest.raises(
            InputError, match=r"is no JSON .* expected a table with name, question|run: got none"
        ):
            launch.resolve(read, RunRequest("judge_rubric", options=wrong, model="scripted"))


def test_a_method_that_reads_gets_no_labels(read: Workspace) -> None:
    spec = read.run_folder(run_named(read, "reading").id).spec()
    dependencies = Dependencies(read.store, lambda _: Packs(), lambda _: {}, SourceSettings)
    context = build_context(dependencies, spec, method_named("judge_rubric"), None)
    assert all(pair.label is None and len(context.view_of(pair)) == 0 for pair in context.pairs)
    assert sum(map(len, context.texts.of_row.values())) == TEXTS


@pytest.mark.soak
@pytest.mark.parametrize(
    ("unit", "seqs", "words"),
    [("verdict", 2, "a verdict of JUDGE"), ("row", 1, "everything that was written")],
)
def test_verdicts_and_rows_are_read_with_the_dossier_that_was_seen(
    little_demo: Workspace, unit: Literal["verdict", "row"], seqs: int, words: str
) -> None:
    rubric = replace(RUBRIC, unit=unit, dossier=True)
    with little_demo.store.read() as db:
        debate = next(run for run in runs.list_all(db) if run.name == "simulated debate")
        keys = tuple(rubric_tables.texts(db, debate.id, rubric)["pair_id"].unique()[:2])
        tools = [item["tool"] for item in evidence.of_row(db, debate.id, keys[0])]
    options = reading_options(rubric, debate.id)
    spec = launch.resolve(
        little_demo, RunRequest("judge_rubric", debate.dataset, options, keys, model="scripted")
    )
    assert spec.rows == keys
    texts = load_texts(little_demo.store, spec, JudgeRubric())
    assert [len(texts.of_row[key]) for key in keys] == [seqs, seqs]
    assert [item.tool for item in texts.evidence[keys[0]]] == tools
    pair = load_pairs(little_demo.store, spec.dataset)[keys[0]]
    [_, (_, task)] = messages_of(rubric, pair, texts.of_row[keys[0]][0], dossier_of(texts, pair))
    assert words in task
    assert all(f"- {tool.replace('_', ' ')}, " in task for tool in tools)


@pytest.mark.soak
def test_a_reading_goes_and_comes_as_a_bundle_and_as_tables(
    read: Workspace, tmp_path: Path
) -> None:
    built = bundle_actions.build_bundle(read, "reading")
    assert [problem.rule for problem in built.problems] == ["parents"]
    other = worlds.workspace_in(tmp_path / "other")
    worlds.import_small(other)
    assert import_upload(other, built.content, "reading.bundle.zip").kind == "bundle"
    assert stored(other, "reading") == stored(read, "reading")
    pd.testing.assert_frame_equal(
        readings.answers(other, RUBRIC, "debate")[0], readings.answers(read, RUBRIC, "debate")[0]
    )
    table, n = export.export(read, "reading", "csv", with_traces=True)
    assert n == TEXTS
    assert b"reading" in table
    assert export.export(read, "reading", "csv")[1] == ROWS


@pytest.mark.soak
def test_a_reading_of_a_run_that_is_gone_stops_and_says_so(read: Workspace, tmp_path: Path) -> None:
    workspace = copy_of(read, tmp_path)
    with serving() as url:
        settings = ReadingSettings("part", concurrency=1, token_budget=1, seed=5)
        part = readings.start_reading(workspace, RUBRIC, "debate", replace(settings, endpoint=url))
        with workspace.change("test", "delete") as (db, _):
            runs.delete(db, run_named(workspace, "debate").id)
        stopped = run_control.resume(
            workspace,
            part.id,
            settings=replace(run_control.settings_of(workspace, part.id), token_budget=None),
            begin=run_control.work_on,
        )
    assert (stopped.status, stopped.done) == ("stopped", 0)
    assert "not in this workspace" in stopped.cause
