"""What an argument is worth: rows with it against rows without, on a simulated debate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from core.base.errors import InputError
from core.base.result import to_json
from core.features.arguments.rubric import Rubric
from core.features.arguments.worth import (
    MEASURES,
    ArgumentWorth,
    RubricWorth,
    contribution_difference,
    contributions,
    load_outcomes,
    mean_difference,
    rows_with_answer,
    rubric_worth,
)
from core.runs.workspace import Workspace
from core.scoring.run_scores import RunRows
from core.stats.auroc import auroc
from core.stats.multiplicity import holm
from core.stats.scores_and_labels import Task, outcome_of
from tests.scoring.test_run_scores import CELLS, GENE, LABELS, P_DE, P_UP, PERT, loaded, rows_of
from tests.stats.oracles import contribution

ONE, TWO = Rubric("one", "Is it?"), Rubric("two", "Is it so?", unit="row")
HITS = pd.Series(["hit", "miss", "hit", None, "hit", "hit", "miss", "miss"])
IDS = [f"{pert}_{gene}" for pert, gene in zip(PERT, GENE, strict=True)]


def said(answers: list[str], texts: int = 1) -> pd.DataFrame:
    """Readings with one answer a text, rows in order."""
    return pd.DataFrame(
        {
            "pair_id": np.repeat(IDS[: len(answers) // texts], texts),
            "seq": 0,
            "answer": answers,
            "p": np.nan,
        }
    )


def test_one_text_of_a_row_is_enough_and_an_unread_row_is_neither() -> None:
    found = rows_with_answer(said(["yes", "no", "no", "", "", "", "no", "no"], 2), "yes")
    assert found.to_dict() == {IDS[0]: True, IDS[1]: False, IDS[3]: False}


@pytest.mark.parametrize("cells", [None, CELLS], ids=["all rows", "cells"])
def test_means_equal_loops(cells: np.ndarray | None) -> None:
    rows = rows_of(cells=cells)
    answers = ["yes", "no", "yes", "no", "no", "yes", "no", ""]
    [found] = rubric_worth(rows, HITS, [(ONE, said(answers))]).rubrics
    assert (found.yes["n"], found.no["n"], found.unread) == (3, 4, 1)
    outcome = outcome_of(LABELS)
    for side, word in (("yes", "yes"), ("no", "no")):
        chosen = [i for i, each in enumerate(answers) if each == word]
        hits = [HITS[i] == "hit" for i in chosen if HITS[i] in ("hit", "miss")]
        assert getattr(found, side)["hit_rate"].estimate == pytest.approx(np.mean(hits))
        for key, positive, scores, counts in (
            ("de", outcome.effect, P_DE, outcome.labelled),
            ("dir", outcome.up, P_UP, outcome.directed),
        ):
            values = np.array([contribution(i, positive, scores, counts, cells) for i in chosen])
            expected = values[~np.isnan(values)].mean() if not np.isnan(values).all() else np.nan
            assert getattr(found, side)[key].estimate == pytest.approx(expected, nan_ok=True)


@pytest.fixture(scope="module")
def debate(demo_workspace: Workspace) -> tuple[RunRows, pd.Series]:
    rows = loaded(demo_workspace, "simulated debate")
    with demo_workspace.store.read() as db:
        return rows, load_outcomes(db, rows)


def by_row(rows: RunRows, yes: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "pair_id": rows.frame["pair_id"],
            "seq": -1,
            "answer": np.where(yes, "yes", "no"),
            "p": np.nan,
        }
    )


@pytest.fixture(scope="module")
def tried(debate: tuple[RunRows, pd.Series]) -> tuple[ArgumentWorth, ...]:
    """A rubric that knows which rows are hits, and one that draws them by lot."""
    rows, outcomes = debate
    lot = np.random.default_rng(0).random(len(rows)) < 0.4
    return rubric_worth(
        rows,
        outcomes,
        [(ONE, by_row(rows, outcomes.eq("hit").to_numpy())), (TWO, by_row(rows, lot))],
    ).rubrics


def test_holm_counts_every_measure_of_every_rubric(tried: tuple[ArgumentWorth, ...]) -> None:
    p = [each.p[key] for each in tried for key in MEASURES]
    corrected = [each.p_holm[key] for each in tried for key in MEASURES]
    assert corrected == pytest.approx(holm(p).tolist(), nan_ok=True)
    assert (
        max(value / one for value, one in zip(corrected, p, strict=True) if value < 1) > 3
    )  # more than one rubric's measures


def test_hits_differ_where_they_are_chosen_and_not_by_lot(tried: tuple[ArgumentWorth, ...]) -> None:
    knowing, lot = tried
    assert (knowing.yes["hit_rate"].estimate, knowing.no["hit_rate"].estimate) == (1, 0)  # type: ignore[union-attr]
    assert knowing.delta["hit_rate"].estimate == 1
    assert knowing.delta["de"].low > 0
    assert knowing.p_holm["de"] < 0.05
    assert all(lot.p_holm[key] > 0.05 for key in MEASURES)
    assert "no measure is shown to differ" in lot.sentence
    assert "higher in DE contribution" in knowing.sentence


def test_the_rows_are_named_and_a_single_rubric_has_its_keys_at_the_top(
    tried: tuple[ArgumentWorth, ...], debate: tuple[RunRows, pd.Series]
) -> None:
    knowing, lot = tried
    assert knowing.sentence.startswith(
        f"one: {knowing.yes['n']:,} rows where at least one advocate's text is “yes”"
    )
    assert "rows whose answer is “yes”" in lot.sentence
    rows, outcomes = debate
    both = to_json(RubricWorth("run", "all rows", tried))
    single = to_json(
        rubric_worth(rows, outcomes, [(TWO, by_row(rows, outcomes.eq("miss").to_numpy()))])
    )
    assert [each["rubric"] for each in both["rubrics"]] == ["one", "two"]
    assert both["yes"] is None
    assert single["yes"] == single["rubrics"][0]["yes"]
    assert single["yes"]["n"] + single["no"]["n"] == len(rows)
    assert set(single["delta"]) == set(single["p_holm"]) == set(MEASURES)
    assert single["delta"]["de"]["low"] < single["delta"]["de"]["high"]


def test_runs_without_labels_and_answers_that_are_none_are_refused(
    demo_workspace: Workspace,
) -> None:
    without = loaded(demo_workspace, "simulated debate test")
    with pytest.raises(InputError, match="simulated debate test: none of its 600 rows has a label"):
        rubric_worth(without, pd.Series([None] * len(without)), [(ONE, said(["yes"] * 8))])
    with pytest.raises(InputError, match="rubric one: answer 'maybe', expected one of yes, no"):
        rubric_worth(rows_of(), HITS, [(ONE, said(["yes"] * 8))], "maybe")


def test_an_answer_that_no_row_has_gives_no_difference() -> None:
    found = rubric_worth(rows_of(), HITS, [(replace(ONE, name="never"), said(["no"] * 8))])
    assert found.rubrics[0].yes["n"] == 0
    assert np.isnan(found.rubrics[0].delta["de"].estimate)
    assert np.isnan(found.rubrics[0].p_holm["de"])
    assert to_json(found)["delta"]["de"] is None
    assert "no measure is shown to differ" in found.sentence


N = 80


def drawn(seed: int = 0, n: int = N) -> tuple[Task, np.ndarray, np.ndarray]:
    """A task with ties and rows that do not count, cells, and a group."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    task = Task(rng.random(n) < 0.9, positive, np.round(rng.normal(size=n) + 0.5 * positive, 1))
    return task, rng.integers(0, 3, n), rng.random(n) < 0.3


def by_loop(task: Task, cells: np.ndarray, i: int, without: int = -1) -> float:
    return contribution(i, task.positive, task.values, task.rows, cells, without)


def test_contributions_equal_a_loop_and_their_mean_the_auroc() -> None:
    task, cells, _ = drawn()
    found = contributions(task, cells)
    for i in range(N):
        assert (
            np.isnan(found[i])
            if not task.rows[i]
            else found[i] == pytest.approx(by_loop(task, cells, i))
        )
    over_all = contributions(task, None)
    value = auroc(task.positive[task.rows], task.values[task.rows])
    for positive in (True, False):
        assert over_all[task.rows & (task.positive == positive)].mean() == pytest.approx(value)


def test_the_difference_and_its_row_interval_equal_a_jackknife() -> None:
    """Leaving out each row in turn, from its group and from what others are ranked against."""
    task, cells, yes = drawn(1)
    rows = np.arange(N)
    found = contribution_difference(task, cells, yes, ~yes, rows, rows)

    def difference(without):
        of = {
            i: by_loop(task, cells, i, without) for i in range(N) if task.rows[i] and i != without
        }
        return float(
            np.mean([v for i, v in of.items() if yes[i]])
            - np.mean([v for i, v in of.items() if not yes[i]])
        )

    assert found.change.value == pytest.approx(difference(-1))
    left_out = np.array([difference(i) for i in range(N)])
    n = int(task.rows.sum())
    jackknife = np.sqrt((n - 1) / n * ((left_out - found.change.value) ** 2).sum())
    assert found.change.row.se == pytest.approx(jackknife, rel=0.05)
    assert (found.yes.n, found.no.n, found.change.n) == (
        int((yes & task.rows).sum()),
        int((~yes & task.rows).sum()),
        n,
    )


def test_intervals_hold_0_where_groups_do_not_differ() -> None:
    """100 data sets whose groups are drawn at random: 95% of the intervals hold 0, give or take 3 standard errors (.065)."""
    held = 0
    for seed in range(100):
        task, _, yes = drawn(seed, 200)
        change = contribution_difference(
            task, None, yes, ~yes, np.arange(200), np.arange(200)
        ).change.row
        held += change.low <= 0 <= change.high
    assert held / 100 == pytest.approx(0.95, abs=0.065)


def test_a_mean_difference_is_that_of_two_means() -> None:
    values = np.array([1.0, 0.0, 1.0, np.nan, 0.0, 0.0, 1.0, 0.0])
    yes = np.array([True, True, True, True, False, False, False, False])
    rows = np.arange(8)
    found = mean_difference(values, yes, ~yes, rows, rows)
    assert (found.yes.value, found.no.value, found.yes.n, found.no.n) == (
        pytest.approx(2 / 3),
        0.25,
        3,
        4,
    )
    assert found.change.value == pytest.approx(2 / 3 - 1 / 4)
    # s²/n of each group: (2/9)·(3/2)/3 + (3/16)·(4/3)/4
    assert found.change.row.se == pytest.approx(np.sqrt(2 / 18 + 3 / 48))
    empty = mean_difference(values, yes & False, ~yes, rows, rows)
    assert np.isnan(empty.yes.value)
    assert np.isnan(empty.change.value)
    assert empty.no.value == 0.25
