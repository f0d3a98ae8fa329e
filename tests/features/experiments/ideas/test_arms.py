"""Arms are scored as everything else is scored, and their changes are paired."""

from __future__ import annotations

import numpy as np
import pytest

from core.features.experiments.ideas.idea import Ranking, Trial, mask_scores, score_arms
from core.features.experiments.result import ArmResult
from core.stats.comparison import compare
from core.stats.official_score import score_with_intervals
from core.stats.scores_and_labels import Scores
from core.transfer.row_index import rows_of

RNG = np.random.default_rng(3)
N = 400
ROWS = rows_of(RNG.integers(0, 20, N), RNG.integers(20, 60, N))
LABELS = RNG.choice(np.array(["up", "down", "none"], dtype=object), N)
CELLS = RNG.integers(0, 4, N)
A, B = (Scores(RNG.uniform(size=N), RNG.uniform(size=N)) for _ in range(2))
METRICS = ("de", "dir", "mean")


def test_one_cut_equals_the_score_and_the_comparison_of_runs() -> None:
    base, arm = score_arms(
        Trial(LABELS, ROWS, (CELLS,), "inside"),
        [Ranking("a", (A,)), Ranking("b", (B,), "why", "id")],
    )
    score = score_with_intervals(LABELS, B, ROWS.pert, ROWS.gene, CELLS)
    paired = compare(LABELS, A, B, ROWS.pert, ROWS.gene, CELLS)
    for metric in METRICS:
        own, change = getattr(arm, metric), getattr(arm, f"delta_{metric}")
        assert own.shown.ends == pytest.approx(getattr(score, metric).shown.ends)
        assert change.shown.ends == pytest.approx(getattr(paired, metric).change.shown.ends)
        assert getattr(base, f"delta_{metric}") is None
    assert (arm.note, arm.runs, base.runs, arm.n) == ("why", ("id",), (), N)


def test_cuts_are_averaged_and_their_variance_is_in_the_interval() -> None:
    trial = Trial(LABELS, ROWS, (CELLS, CELLS), "inside")
    moving, still = score_arms(trial, [Ranking("moving", (A, B)), Ranking("still", (A, A))])
    a, b = (score_with_intervals(LABELS, each, ROWS.pert, ROWS.gene, CELLS).de for each in (A, B))
    assert moving.de.value == pytest.approx((a.value + b.value) / 2)
    assert still.de.ends == pytest.approx(a.ends)
    assert moving.de.shown.se > max(a.shown.se, b.shown.se) / 2


def test_what_an_arm_does_not_rank_is_left_out() -> None:
    nothing, chosen = np.full(N, np.nan), ROWS.pert < 10
    arms = [
        Ranking("de alone", (Scores(A.p_de, nothing),)),
        Ranking("half", (mask_scores(A, chosen),)),
    ]
    alone, half = score_arms(Trial(LABELS, ROWS, (None,), "all rows"), arms, has_base=False)
    assert (alone.dir, alone.mean, alone.delta_de, half.delta_de) == (None, None, None, None)
    expected = score_with_intervals(
        LABELS[chosen], A.take(chosen), ROWS.pert[chosen], ROWS.gene[chosen]
    )
    assert isinstance(half, ArmResult)
    assert half.mean.value == pytest.approx(expected.mean.value)
    assert half.n == chosen.sum()
