from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from core.stats.scores_and_labels import Scores, scored_rows, scores_from_probabilities
from core.stats.within_axis import Axis, scorable_genes, score_within
from tests.stats.oracles import delong_covariance, some_rows, wins

RNG = np.random.default_rng(71)
N = 500
LABELS, DE, UP = some_rows(RNG, N)
PERT, GENE, CELLS = RNG.integers(0, 30, N), RNG.integers(0, 45, N), RNG.integers(0, 3, N)
SCORES = scores_from_probabilities(DE, UP)
ROWS = scored_rows(LABELS, SCORES, PERT, GENE)
EFFECT, UPWARDS = LABELS != "none", LABELS == "up"
TASKS = {"de": (np.ones(N, dtype=bool), EFFECT, DE), "dir": (EFFECT, UPWARDS, UP)}


def aurocs_of_groups(group: np.ndarray, metric: str) -> tuple[list[float], list[int], int]:
    """Scikit-learn's AUROC and the pairs of each group with both classes, and the number of the other groups."""
    rows, positive, values = TASKS[metric]
    found, pairs, others = [], [], 0
    for one in np.unique(group[rows]):
        inside = rows & (group == one)
        if positive[inside].all() or not positive[inside].any():
            others += 1
            continue
        found.append(roc_auc_score(positive[inside], values[inside]))
        pairs.append(int(positive[inside].sum() * (~positive[inside]).sum()))
    return found, pairs, others


@pytest.mark.parametrize(("axis", "group"), [("gene", GENE), ("pert", PERT)])
def test_averages_are_those_of_the_groups(axis: Axis, group: np.ndarray) -> None:
    within = score_within(ROWS, axis)
    for metric in ("de", "dir"):
        found, (aurocs, pairs, others) = getattr(within, metric), aurocs_of_groups(group, metric)
        assert found.macro.value == pytest.approx(np.mean(aurocs), abs=1e-12)
        assert found.by_pairs.value == pytest.approx(np.average(aurocs, weights=pairs), abs=1e-12)
        assert (found.groups, found.one_class) == (len(aurocs), others)
        # groups are independent: the standard error of a plain mean
        own = getattr(found.macro, axis)
        assert own.se == pytest.approx(np.std(aurocs, ddof=1) / np.sqrt(len(aurocs)))
        assert own.method == "between groups"
    assert within.mean.value == pytest.approx((within.de.macro.value + within.dir.macro.value) / 2)


def test_the_weighted_average_is_the_stratified_auroc() -> None:
    for metric, (rows, positive, values) in TASKS.items():
        ours = getattr(score_within(ROWS, "gene"), metric).by_pairs
        tables = [
            wins(positive[rows & (gene == GENE)], values[rows & (gene == GENE)])
            for gene in np.unique(GENE[rows])
        ]
        won, pairs = np.array([(table.sum(), table.size) for table in tables]).T
        value, used = won.sum() / pairs.sum(), pairs > 0
        spread = (won - value * pairs)[used]
        se = (
            np.sqrt(used.sum() * spread.var(ddof=1)) / pairs.sum()
        )  # of Σ won / Σ pairs, linearised
        assert (ours.value, ours.gene.se) == pytest.approx((value, se), abs=1e-12)


def test_independent_rows_have_the_variance_of_the_groups_own_intervals() -> None:
    found = score_within(ROWS, "gene").de.macro
    variances = []
    for one in np.unique(GENE):
        inside = one == GENE
        positive = EFFECT[inside]
        if 1 < positive.sum() < len(positive) - 1:
            variances.append(delong_covariance(positive, [DE[inside]])[0, 0])
    # the small-sample factors differ: here of each group's classes, there of all rows of a class
    assert found.row.se == pytest.approx(
        np.sqrt(np.sum(variances)) / score_within(ROWS, "gene").de.groups, rel=0.15
    )


def test_the_two_way_interval_is_the_sum_less_the_rows() -> None:
    found = score_within(ROWS, "gene").de.macro
    assert found.two_way.se**2 == pytest.approx(
        found.gene.se**2 + found.pert.se**2 - found.row.se**2
    )
    assert found.shown.clusters == 30
    assert found.shown.se == max(found.row.se, found.pert.se, found.gene.se, found.two_way.se)


def test_resampled_genes_vary_as_the_interval_says() -> None:
    rng = np.random.default_rng(1)
    aurocs, *_ = aurocs_of_groups(GENE, "de")
    means = [rng.choice(aurocs, len(aurocs)).mean() for _ in range(4000)]
    assert score_within(ROWS, "gene").de.macro.gene.se == pytest.approx(np.std(means), rel=0.05)


def test_only_pairs_inside_a_cell_count() -> None:
    within = score_within(scored_rows(LABELS, SCORES, PERT, GENE, CELLS), "gene").de
    won = pairs = 0.0
    averages = []
    for one in np.unique(GENE):
        won_here = pairs_here = 0.0
        for cell in range(3):
            inside = (one == GENE) & (cell == CELLS)
            positive = EFFECT[inside]
            if positive.any() and not positive.all():
                n = positive.sum() * (~positive).sum()
                won_here += n * roc_auc_score(positive, DE[inside])
                pairs_here += n
        if pairs_here:
            averages.append(won_here / pairs_here)
        won, pairs = won + won_here, pairs + pairs_here
    assert within.macro.value == pytest.approx(np.mean(averages), abs=1e-12)
    assert within.by_pairs.value == pytest.approx(won / pairs, abs=1e-12)
    assert within.groups == len(averages)


@pytest.mark.parametrize("cells", [None, CELLS])
def test_a_score_of_genes_alone_has_exactly_a_half_inside_each(cells: np.ndarray | None) -> None:
    means = np.array([EFFECT[one == GENE].mean() for one in range(45)])[GENE]
    found = score_within(scored_rows(LABELS, Scores(means, means), PERT, GENE, cells), "gene")
    for estimate in (found.de.macro, found.de.by_pairs, found.dir.macro, found.mean):
        assert (estimate.value, estimate.shown.se) == (0.5, 0.0)


@pytest.mark.parametrize("cells", [None, CELLS])
def test_genes_that_can_be_scored_are_those_that_are_averaged(cells: np.ndarray | None) -> None:
    some = scored_rows(
        LABELS[:120],
        SCORES.take(np.arange(N) < 120),
        PERT[:120],
        GENE[:120],
        None if cells is None else cells[:120],
    )
    within = score_within(some, "gene")
    assert scorable_genes(some) == (within.de.groups, within.dir.groups)
    assert within.dir.groups < within.de.groups


def test_without_a_pair_there_is_no_number() -> None:
    found = score_within(
        scored_rows(["up", "none"], SCORES.take(np.arange(N) < 2), [0, 0], [0, 1]), "gene"
    )
    assert np.isnan([found.de.macro.value, found.de.by_pairs.value, found.mean.value]).all()
    assert (found.de.groups, found.de.one_class) == (0, 2)


def test_perturbations_that_genes_of_two_rows_share_are_in_the_interval() -> None:
    """Inside a gene of two rows no row has an influence on its AUROC of 0 or 1; what its perturbations do to all genes has."""
    rng = np.random.default_rng(6)
    genes, perts = 400, 8
    gene = np.repeat(np.arange(genes), 2)
    pert = np.concatenate([rng.choice(perts, 2, replace=False) for _ in range(genes)])
    labels = np.tile(["up", "none"], genes)
    # the signal is stronger in some perturbations: a shift of all their rows would cancel between the classes
    values = 2 * rng.normal(size=perts)[pert] * (labels == "up") + rng.normal(size=2 * genes)
    found = score_within(scored_rows(labels, Scores(values, values), pert, gene), "gene").de.macro
    assert found.row.se == 0
    assert found.pert.se > 2 * found.gene.se
    assert found.shown.se == pytest.approx(np.hypot(found.pert.se, found.gene.se))


def test_an_average_over_fewer_than_twenty_groups_has_no_interval() -> None:
    rng = np.random.default_rng(7)
    for genes in (19, 20):
        gene = np.repeat(np.arange(genes), 12)
        labels, values = np.tile(["up", "none", "none"], 4 * genes), rng.random(12 * genes)
        found = score_within(
            scored_rows(labels, Scores(values, values), np.arange(12 * genes) % 30, gene), "gene"
        ).de
        assert found.groups == genes
        assert np.isnan(found.macro.shown.low) == (genes == 19)
