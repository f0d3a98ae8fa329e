from __future__ import annotations

import numpy as np
import pytest

from core.stats.cell_auroc import influence_within_cells
from core.stats.delong import two_way_variance
from core.stats.official_score import point_values, score_with_intervals
from core.stats.scores_and_labels import Scores, Task, outcome_of, tasks
from core.transfer.protocols import (
    EvaluationProtocol,
    KnnInputs,
    SimilaritySettings,
    predict_priors,
)
from core.transfer.row_index import knowledge_of, rows_of
from core.transfer.run_cells import Cut, CutScores, cut_values, evaluate, predict_cuts, score_cuts
from core.transfer.similarity import Space

RNG = np.random.default_rng(4)
N, PERTS, GENES, K = 900, 30, 60, 3
ROWS = rows_of(RNG.integers(0, PERTS, N), RNG.integers(0, GENES, N))
LABELS = RNG.choice(np.array(["up", "down", "none"], dtype=object), N)
COVERED = RNG.random((GENES, 1)) < 0.7
SPACES = (Space("some", np.where(COVERED, RNG.normal(size=(GENES, 4)), np.nan)),)
KNN = KnnInputs(ROWS, knowledge_of(LABELS, ROWS), SPACES, SimilaritySettings())
CUTS = predict_cuts(KNN, K)
FOUND = score_cuts(LABELS, ROWS, CUTS, K)


def test_each_cut_has_the_score_of_the_protocol_of_its_seed() -> None:
    values = cut_values(KNN, LABELS, K)
    for seed in range(10):
        protocol = EvaluationProtocol("folds", K, seed)
        one = evaluate(LABELS, ROWS, predict_priors(protocol, ROWS, KNN.known, SPACES))
        for score, found in ((one.score, FOUND.all_rows), (one.covered, FOUND.covered)):
            assert found.values[seed] == pytest.approx([score.de.value, score.dir.value], abs=1e-12)
        assert values[seed] == pytest.approx(FOUND.all_rows.values[seed], abs=1e-12)
        assert CUTS[seed].covered.mean() == pytest.approx(one.coverage)
    assert FOUND.seeds == tuple(range(10))


@pytest.mark.parametrize("some", [FOUND.all_rows, FOUND.covered], ids=["all rows", "covered"])
def test_the_number_is_the_mean_of_the_cuts_with_its_spread(some: CutScores) -> None:
    assert [some.score.de.value, some.score.dir.value] == pytest.approx(some.values.mean(axis=0))
    assert some.score.mean.value == pytest.approx(some.values.mean())
    assert some.sd == pytest.approx(
        [*some.values.std(axis=0, ddof=1), some.values.mean(axis=1).std(ddof=1)]
    )
    assert some.score.scored == "mean of ten cuts (seeds 0–9), inside 3×3 cells"


def by_hand(scores: list[Task], cells: list[np.ndarray], clusters: np.ndarray | None) -> float:
    """The clustered variance of one AUROC's influence, averaged over cuts: classes apart, each with I / (I - 1)."""
    found = [
        influence_within_cells([task], inside) for task, inside in zip(scores, cells, strict=True)
    ]
    parts = np.mean([each.parts for each in found], axis=0)
    members = np.any([each.members for each in found], axis=0)
    units = np.arange(N) if clusters is None else clusters
    total = 0.0
    for a in range(2):
        for b in range(2):
            some = np.unique(units[members[a] | members[b]])
            sums = [sum(parts[a][units == u]) * sum(parts[b][units == u]) for u in some]
            total += len(some) / (len(some) - 1) * sum(sums)
    return total


@pytest.mark.parametrize("covered", [False, True])
@pytest.mark.parametrize("metric", [0, 1], ids=["DE", "DIR"])
def test_intervals_cluster_the_averaged_influence_and_add_the_variance_between_cuts(
    covered: bool, metric: int
) -> None:
    outcome, some = outcome_of(LABELS), FOUND.covered if covered else FOUND.all_rows
    chosen = []
    for cut in CUTS:
        task = tasks(outcome, cut.covered_scores if covered else cut.scores)[metric]
        chosen.append(
            Task(task.rows & cut.covered, task.positive, task.values) if covered else task
        )
    cells = [cut.cells for cut in CUTS]
    of_cuts = some.values[:, metric].var(ddof=1) / 10
    row, pert, gene = (by_hand(chosen, cells, units) for units in (None, ROWS.pert, ROWS.gene))
    both = float(two_way_variance(np.array(row), np.array(pert), np.array(gene)))
    estimate = (some.score.de, some.score.dir)[metric]
    for interval, variance in (
        (estimate.row, row),
        (estimate.pert, pert),
        (estimate.gene, gene),
        (estimate.two_way, both),
    ):
        assert interval.se**2 == pytest.approx(variance + of_cuts, rel=1e-9)
    assert estimate.shown.se == max(
        each.se for each in (estimate.row, estimate.pert, estimate.gene, estimate.two_way)
    )
    assert estimate.shown.clusters == PERTS
    assert estimate.n == max(int(task.rows.sum()) for task in chosen)


def test_cuts_that_are_all_the_same_are_one_cut() -> None:
    one = score_cuts(LABELS, ROWS, CUTS[:1], K).all_rows.score
    same = score_cuts(LABELS, ROWS, [CUTS[0]] * 4, K).all_rows
    plain = score_with_intervals(LABELS, CUTS[0].scores, ROWS.pert, ROWS.gene, CUTS[0].cells)
    assert same.sd == pytest.approx([0, 0, 0])
    for name in ("de", "dir", "mean"):
        for unit in ("row", "pert", "gene", "two_way", "shown"):
            found = [getattr(getattr(score, name), unit) for score in (one, same.score, plain)]
            assert len({round(interval.low, 10) for interval in found}) == 1
            assert len({round(interval.high, 10) for interval in found}) == 1


def test_a_cut_without_pairs_leaves_the_mean_undefined() -> None:
    alone = Cut(0, np.arange(N), CUTS[0].scores, CUTS[0].covered_scores, CUTS[0].covered)
    found = score_cuts(LABELS, ROWS, [CUTS[0], alone], K).all_rows
    assert np.isnan(found.score.de.value)
    assert np.isnan(found.score.mean.shown.low)
    assert np.isnan(point_values(outcome_of(LABELS), alone.scores, alone.cells)).all()


def test_values_are_those_of_the_influence() -> None:
    outcome, scores = (
        outcome_of(LABELS),
        Scores(np.round(RNG.random(N), 1), np.round(RNG.random(N), 1)),
    )
    found = influence_within_cells(tasks(outcome, scores), CUTS[0].cells)
    assert point_values(outcome, scores, CUTS[0].cells) == pytest.approx(found.values[:, 0])
