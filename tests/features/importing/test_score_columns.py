"""External scores as runs: imported, undone, scored for the question that they answer, fused and compared."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from core.base.errors import InputError
from core.base.types import Flag
from core.features.importing.actions import import_paths, import_upload, import_uploads
from core.features.importing.external_scores import MOST_RUNS, ScoreTable, choose_columns, run_of
from core.features.importing.import_target import ImportOptions
from core.features.importing.reader import read
from core.features.importing.submissions import SubmissionTable
from core.runs.workspace import Workspace
from core.scoring.compare_runs import compare_runs
from core.scoring.run_scores import RunRows, load_scored_rows, score_run
from core.scoring.score_result import score_result
from tests import cases, worlds
from tests.features.importing.test_score_files import table


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return worlds.template(tmp_path_factory.mktemp("screen"), worlds.furnish)


@pytest.fixture
def here(made: Path, workspace: Workspace) -> Workspace:
    return worlds.copied(made, workspace)


def content() -> bytes:
    """Numbers that rank the screen's labelled rows by their labels: `change` by an effect, `rise` by up."""
    screen = worlds.screen()
    known = list(zip(screen.ids, screen.labels, strict=True))[: screen.n_train]
    rise = {"up": 9, "down": -9, "none": 0}
    return cases.as_csv(
        ["id", "change", "rise"], [[key, label != "none", rise[str(label)]] for key, label in known]
    )


def test_many_zeros_are_remarked_on(here: Workspace) -> None:
    known = worlds.screen().ids[: worlds.screen().n_train]
    rows = [[key, 0 if i % 2 else i + 1, i] for i, key in enumerate(known)]
    file = ("graph.csv", cases.as_csv(["id", "walks", "walks_all"], rows))
    asked, plain = import_uploads(here, [file])
    assert "Column walks is exactly 0 in 50% of the rows" in asked.message
    assert "leave these cells empty" in asked.message
    assert plain.message == ""


def loaded(workspace: Workspace, name: str) -> RunRows:
    with workspace.store.read() as db:
        return load_scored_rows(db, name)


@pytest.mark.soak
def test_a_question_that_is_not_answered_has_no_score(here: Workspace) -> None:
    import_upload(here, content(), "graph.csv", ImportOptions(name="by effect", de="change"))
    import_upload(here, content(), "graph.csv", ImportOptions(name="by direction", dir="rise"))
    effect, direction = (
        score_run(loaded(here, "by effect")).whole,
        score_run(loaded(here, "by direction")).whole,
    )
    assert (effect.de.value, direction.dir.value) == (1.0, 1.0)
    assert all(
        math.isnan(part.value) for part in (effect.dir, effect.mean, direction.de, direction.mean)
    )
    with here.store.read() as db:
        rows = loaded(here, "by effect")
        de, direction, _ = score_result(db, rows, score_run(rows)).tables()[0].rows
    assert "no score: the run does not rank rows by it" in direction["interval"]
    assert "no score" not in de["interval"]


def test_they_are_compared_in_the_question_that_both_answer(here: Workspace) -> None:
    import_upload(here, content(), "graph.csv", ImportOptions(name="by effect", de="change"))
    import_upload(here, content(), "graph.csv", ImportOptions(name="by direction", dir="rise"))
    result = compare_runs(loaded(here, "llm train"), loaded(here, "by effect"))
    assert result.sentence.startswith("by effect is better than llm train: DE +")
    assert result.remarks[0].startswith("Only DE can be compared")
    nothing = compare_runs(loaded(here, "by effect"), loaded(here, "by direction"))
    assert "no comparison" in nothing.sentence
    assert nothing.remarks == ()


def test_options_and_names_that_fit_nothing_are_refused(here: Workspace, tmp_path: Path) -> None:
    pairs = tmp_path / "train.csv"
    pairs.write_bytes(cases.TRAIN)
    [outcome] = import_paths(here, [pairs], ImportOptions(de="change"))
    assert outcome.kind == "failed"
    assert "kind challenge_train" in outcome.message
    named = import_upload(here, content(), "graph.csv", ImportOptions(name="one"))
    assert "makes 2 runs" in named.message
    ids = worlds.screen().ids[:3]
    odd = cases.as_csv(["id", "s"], [[ids[0], 1], ["Zz_Qq", 2], [ids[1], "a"], [ids[2], 2]])
    rejected = import_upload(here, odd, "odd.csv").rejected
    assert [(bad.line, bad.reason) for bad in rejected] == [(4, "not a number"), (3, "unknown id")]


def runs_of(
    scores: ScoreTable, de: str | None, direction: str | None
) -> list[tuple[str, SubmissionTable]]:
    """What a file of scores brings, with its rows."""
    found = []
    for columns in choose_columns(scores, de, direction):
        rows = []
        run = run_of(scores, columns, rows.append)
        found.append((columns.name, replace(run, rows=tuple(rows))))
    return found


def test_a_column_for_each_question() -> None:
    [(name, run)] = runs_of(table(), "effect", "reachable")
    assert (name, run.method, run.track) == ("effect, reachable", "external_score", None)
    by_id = {row.prediction.pair_id: row.prediction for row in run.rows}
    # effect: -1 < 3.5 < 100, of three: percentiles 1/4, 2/4, 3/4. reachable: 0 < 1 = 1, of three: 1/4, 2.5/4, 2.5/4
    assert by_id["A_G"].p_de == 0.5
    assert by_id["A_G"].p_up_given_de == 0.625
    assert by_id["A_H"].prediction_up == 0.0625
    assert by_id["A_G"].flags == ()
    assert by_id["B_G"].flags == (Flag.NO_DE,)
    assert by_id["B_H"].flags == (Flag.NO_DIR,)
    assert by_id["B_H"].p_up_given_de is None
    assert dict(run.rows[0].events[0].meta) == {"effect": 3.5, "reachable": 1.0}


def test_one_column_leaves_the_other_question_without_a_score() -> None:
    [(_, run)] = runs_of(table(), None, "effect")
    assert [row.prediction.pair_id for row in run.rows] == ["A_G", "A_H", "B_H"]
    assert all(row.prediction.flags == (Flag.NO_DE,) for row in run.rows)
    assert (
        run.note
        == "External score: no score for an effect; column effect ranks them by up given an effect."
    )


def test_without_options_every_column_is_a_run() -> None:
    found = dict(runs_of(table(), None, None))
    assert list(found) == ["reachable", "effect"]
    assert len({run.sha256 for run in found.values()}) == 2
    assert all(not math.isnan(row.prediction.p_de) for row in found["effect"].rows)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("height", "--de height: not in the file; expected .*reachable, effect"),
        ("word", "--de word: holds no numbers"),
    ],
)
def test_a_column_that_cannot_be_a_score_is_refused(chosen: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        runs_of(table(), chosen, None)


def test_too_many_columns_are_refused() -> None:
    names = [f"c{i}" for i in range(MOST_RUNS + 1)]
    many = table(cases.as_csv(["id", *names], [["A_G", *range(len(names))]]))
    with pytest.raises(InputError, match="21 columns of numbers, expected 1 to 20"):
        runs_of(many, None, None)


def test_p_values_are_turned_round() -> None:
    found = read(b"id,p_value\nA_G,0.01\nA_H,0.9\nB_G,0.5\n", "s.csv")
    assert isinstance(found, ScoreTable)
    [columns] = choose_columns(found, None, None)
    assert columns == ("p_value", "p_value", None)
    rows = []
    run = run_of(found, columns, rows.append)
    assert [row.prediction.p_de for row in rows] == [0.75, 0.25, 0.5]  # mid-rank / (n + 1) of −p
    assert run.note.endswith(
        "Their names indicate p-values or the like: a smaller value ranks a row higher."
    )
    with pytest.raises(InputError, match="--dir p_value: p-values have no direction"):
        choose_columns(found, None, "p_value")


def test_logarithms_of_p_values_that_fall_with_an_effect_are_refused() -> None:
    rising, falling = (
        read(f"id,log10p\nA_G,{sign}5\nA_H,{sign}0.1\n".encode(), "s.csv") for sign in ("", "-")
    )
    assert isinstance(rising, ScoreTable)
    assert isinstance(falling, ScoreTable)
    run_of(rising, choose_columns(rising, None, None)[0], lambda _: None)
    with pytest.raises(
        InputError, match=r"column log10p has a name of p-values, .* but contains -5"
    ):
        run_of(falling, choose_columns(falling, None, None)[0], lambda _: None)


@pytest.mark.parametrize("name", ["p_value", "padj", "q"])
def test_what_is_called_a_p_value_and_is_none_is_refused(name: str) -> None:
    found = read(f"id,{name}\nA_G,0.01\nA_H,12.5\n".encode(), "s.csv")
    assert isinstance(found, ScoreTable)
    with pytest.raises(
        InputError, match=f"column {name} has a name of p-values, .* but contains 12.5"
    ):
        run_of(found, choose_columns(found, None, None)[0], lambda _: None)


@pytest.mark.parametrize("name", ["rank", "rank_de", "ranking"])
def test_ranks_are_turned_round(name: str) -> None:
    found = read(f"id,{name}\nA_G,1\nA_H,3.5\nB_G,2\nB_H,\n".encode(), "s.csv")
    assert isinstance(found, ScoreTable)
    [columns] = choose_columns(found, None, None)
    assert columns == (name, name, name)
    rows = []
    run = run_of(found, columns, rows.append)
    assert [(row.prediction.p_de, row.prediction.p_up_given_de) for row in rows] == [
        (0.75, 0.75),
        (0.25, 0.25),
        (0.5, 0.5),
    ]
    assert run.note.endswith("Their names indicate ranks: a smaller value ranks a row higher.")
    assert run.spec["turned"] == [name]
    rows.clear()
    run_of(found, choose_columns(found, None, name)[0], rows.append)
    assert [row.prediction.p_up_given_de for row in rows] == [0.75, 0.25, 0.5]


def test_signed_numbers_called_rank_are_scores() -> None:
    """As in a list that GSEA takes, and as ranks that were turned round already."""
    found = read(b"id,rank\nA_G,-3.25\nA_H,1.5\n", "s.csv")
    assert isinstance(found, ScoreTable)
    rows = []
    assert "turned" not in run_of(found, choose_columns(found, None, None)[0], rows.append).spec
    assert rows[0].prediction.p_de < rows[1].prediction.p_de


@pytest.mark.parametrize(("number", "held"), [("12.3", "12.3"), ("0.5", "nothing above 1")])
def test_shares_and_means_of_ranks_are_refused(number: str, held: str) -> None:
    found = read(f"id,rank\nA_G,1\nA_H,{number}\n".encode(), "s.csv")
    assert isinstance(found, ScoreTable)
    with pytest.raises(
        InputError,
        match=f"column rank has a name of ranks, .* but contains {held}; expected 1, 2, 3",
    ):
        run_of(found, choose_columns(found, None, None)[0], lambda _: None)
