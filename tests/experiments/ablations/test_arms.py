"""Arms are scored as everything else is scored, and their changes are paired."""

from __future__ import annotations

import numpy as np
import pytest

from core.experiments.ablations.arms import COLUMNS, Arm, Trial, change_of, describe_changes, mask_scores, score_arms, score_of
from core.stats.comparison import compare
from core.stats.official_score import score_with_intervals
from core.stats.scores_and_labels import Scores
from core.transfer.labelled_rows import rows_of

RNG = np.random.default_rng(3)
N = 400
ROWS = rows_of(RNG.integers(0, 20, N), RNG.integers(20, 60, N))
LABELS = RNG.choice(np.array(["up", "down", "none"], dtype=object), N)
CELLS = RNG.integers(0, 4, N)
A, B = (Scores(RNG.uniform(size=N), RNG.uniform(size=N)) for _ in range(2))


def test_one_cut_equals_the_score_and_the_comparison_of_runs() -> None:
    table = score_arms(Trial(LABELS, ROWS, (CELLS,), "inside"), [Arm("a", (A,)), Arm("b", (B,), "why")], "a")
    assert tuple(table.columns) == COLUMNS
    score = score_with_intervals(LABELS, B, ROWS.pert, ROWS.gene, CELLS)
    paired = compare(LABELS, A, B, ROWS.pert, ROWS.gene, CELLS)
    for metric, own, change in (("DE", score.de, paired.de), ("DIR", score.dir, paired.dir), ("mean", score.mean, paired.mean)):
        found, moved = score_of(table, "b", metric), change_of(table, "b", metric)
        shown = own.shown
        assert (found.estimate, found.low, found.high) == pytest.approx((shown.estimate, shown.low, shown.high))
        shown = change.change.shown
        assert (moved.estimate, moved.low, moved.high) == pytest.approx((shown.estimate, shown.low, shown.high))
    assert table[table["arm"] == "a"]["change"].isna().all()
    assert set(table["note"]) == {"", "why"}


def test_cuts_are_averaged_and_their_variance_is_in_the_interval() -> None:
    trial = Trial(LABELS, ROWS, (CELLS, CELLS), "inside")
    table = score_arms(trial, [Arm("moving", (A, B)), Arm("still", (A, A))])
    a, b = (score_with_intervals(LABELS, each, ROWS.pert, ROWS.gene, CELLS).de for each in (A, B))
    moving, still = score_of(table, "moving", "DE"), score_of(table, "still", "DE")
    assert moving.estimate == pytest.approx((a.value + b.value) / 2)
    assert still.estimate == pytest.approx(a.value)
    assert (still.low, still.high) == pytest.approx((a.shown.low, a.shown.high))


def test_what_an_arm_does_not_rank_is_left_out() -> None:
    nothing = np.full(N, np.nan)
    one_axis = Arm("de alone", (Scores(A.p_de, nothing),))
    half = mask_scores(A, ROWS.pert < 10)
    table = score_arms(Trial(LABELS, ROWS, (None,), "all rows"), [one_axis, Arm("half", (half,))])
    assert table[table["arm"] == "de alone"]["metric"].tolist() == ["DE"]
    expected = score_with_intervals(
        *(each[ROWS.pert < 10] for each in (LABELS,)),
        A.take(ROWS.pert < 10),
        *(axis[ROWS.pert < 10] for axis in (ROWS.pert, ROWS.gene)),
    )
    assert score_of(table, "half").estimate == pytest.approx(expected.mean.value)


def test_conclusions_follow_the_intervals() -> None:
    truth = Scores((LABELS != "none") + 0.0, (LABELS == "up") + 0.0)
    trial = Trial(LABELS, ROWS, (None,), "all rows")
    words = describe_changes(score_arms(trial, [Arm("chance", (A,)), Arm("truth", (truth,))], "chance"), "chance")
    assert words.startswith("In the mean of DE and DIR, better than chance: truth +")
    same = describe_changes(score_arms(trial, [Arm("a", (A,)), Arm("b", (A,))], "a"), "a")
    assert same.startswith("In the mean of DE and DIR, b and a cannot be distinguished: +0.000 [")
