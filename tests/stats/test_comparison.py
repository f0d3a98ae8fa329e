from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from sklearn.metrics import roc_auc_score

from core.base.errors import InputError
from core.stats.comparison import compare, compare_macro, verdict_of
from core.stats.official_score import score_with_intervals
from core.stats.power import detectable_difference
from core.stats.scores_and_labels import Scores, scored_rows, scores_from_probabilities
from tests.stats.oracles import delong_covariance, some_rows

RNG = np.random.default_rng(21)
LABELS, DE, UP = some_rows(RNG, 300)
PERT, GENE = RNG.integers(0, 30, 300), RNG.integers(0, 40, 300)
A = scores_from_probabilities(DE, UP)
B = scores_from_probabilities(DE + 0.3 * RNG.random(300), UP + 0.3 * RNG.random(300))


def test_each_run_has_its_own_score_and_the_change_is_their_difference() -> None:
    found = compare(LABELS, A, B, PERT, GENE)
    first, second = (
        score_with_intervals(LABELS, A, PERT, GENE),
        score_with_intervals(LABELS, B, PERT, GENE),
    )
    for metric in ("de", "dir", "mean"):
        difference, a, b = (getattr(record, metric) for record in (found, first, second))
        assert difference.before == a
        assert difference.after == b
        assert difference.change.value == pytest.approx(b.value - a.value, abs=1e-15)
    assert (found.n, found.n_labelled, found.n_de) == (300, 300, (LABELS != "none").sum())


def test_row_intervals_are_delongs_paired_ones() -> None:
    found, effect = compare(LABELS, A, B, PERT, GENE), LABELS != "none"
    assert found.de.change.row.se == pytest.approx(_paired_se(effect, [A.p_de, B.p_de]), abs=1e-14)
    up = LABELS[effect] == "up"
    assert found.dir.change.row.se == pytest.approx(
        _paired_se(up, [A.p_up[effect], B.p_up[effect]]), abs=1e-14
    )
    same = compare(LABELS, A, A, PERT, GENE).mean.change.row
    assert (same.estimate, same.low, same.high) == (0.0, 0.0, 0.0)


def _paired_se(positive: np.ndarray, scores: list[np.ndarray]) -> float:
    matrix = delong_covariance(positive, scores)
    return float(np.sqrt(matrix[0, 0] + matrix[1, 1] - 2 * matrix[0, 1]))


def test_power_and_probability_follow_from_the_interval_shown() -> None:
    mean = compare(LABELS, A, B, PERT, GENE).mean
    se, t = mean.change.shown.se, scipy.stats.t(mean.change.shown.df)
    assert mean.change.shown.clusters == 30  # perturbations among the rows with an effect
    assert mean.detectable == pytest.approx(detectable_difference(se, df=mean.change.shown.df))
    assert mean.p_gt_0 == pytest.approx(t.cdf(mean.change.value / se))
    swapped = compare(LABELS, B, A, PERT, GENE).mean
    assert swapped.p_gt_0 == pytest.approx(1 - mean.p_gt_0)
    assert swapped.change.row.low == pytest.approx(-mean.change.row.high)


def test_a_difference_without_an_error_by_chance_is_no_certainty() -> None:
    """A perfect ranking of four rows against a constant, of which every row is as it has to be by chance in one of six."""
    labels, axis = np.array(["up", "down", "none", "none"], dtype=object), np.array([0, 0, 1, 1])
    constant = scores_from_probabilities([0.5] * 4, [0.5] * 4)
    perfect = scores_from_probabilities([0.9, 0.8, 0.2, 0.1], [0.9, 0.1, 0.5, 0.5])
    found = compare(labels, constant, perfect, axis, np.array([0, 1, 0, 1]))
    assert found.de.change.value == 0.5
    assert np.isnan(
        [
            found.de.change.shown.low,
            found.de.change.shown.se,
            found.de.after.shown.low,
            found.de.p_gt_0,
        ]
    ).all()
    assert (found.de.before.shown.low, found.de.before.shown.high) == (
        0.5,
        0.5,
    )  # constant by construction
    assert verdict_of(found.de.change.shown, 0.01) == "no verdict"
    same = compare(labels, constant, constant, axis, np.array([0, 1, 0, 1])).de.change.shown
    assert (same.low, same.high) == (0.0, 0.0)


@pytest.mark.parametrize(
    "n", [21, 26, 31]
)  # an average over cells of so many rows is a half less 6e-17
def test_a_constant_run_is_constant_inside_cells_too(n: int) -> None:
    rows = np.arange(n)
    labels = np.where(rows < 6, np.where(rows < 3, "up", "down"), "none").astype(object)
    constant = scores_from_probabilities([0.5] * n, [0.5] * n)
    found = compare(labels, constant, constant, rows % 9, rows % 11, cells=rows % 5).de.before.shown
    assert (found.low, found.high) == pytest.approx((0.5, 0.5), abs=1e-15)


def test_a_run_against_itself_shows_nothing() -> None:
    same = compare(LABELS, A, A, PERT, GENE).mean
    assert (same.change.value, same.change.shown.se, same.p_gt_0, same.detectable) == (
        0.0,
        0.0,
        0.5,
        0.0,
    )


def test_directions_that_one_run_lacks_are_left_out_for_both() -> None:
    lacking = Scores(B.p_de, np.where(np.arange(300) < 100, np.nan, B.p_up))
    found = compare(LABELS, A, lacking, PERT, GENE).dir
    inside = np.arange(300) >= 100
    alone = compare(LABELS[inside], A.take(inside), B.take(inside), PERT[inside], GENE[inside]).dir
    assert found.before.value == alone.before.value
    assert found.change.row.se == pytest.approx(alone.change.row.se, abs=1e-12)
    assert found.change.n == alone.change.n


def test_runs_of_other_rows_are_refused() -> None:
    with pytest.raises(InputError, match="a has 300, b has 299"):
        compare(LABELS, A, B.take(np.arange(300) > 0), PERT, GENE)


def test_without_labels_there_is_no_change() -> None:
    found = compare([None] * 300, A, B, PERT, GENE)
    assert found.n_labelled == 0
    assert np.isnan([found.mean.change.value, found.mean.p_gt_0, found.mean.detectable]).all()


def test_macro_changes_are_the_mean_change_of_the_genes() -> None:
    """Scikit-learn's AUROC of each gene with both classes; genes are independent, so the error is that of their mean."""
    rng = np.random.default_rng(5)
    labels, de, up = some_rows(rng, 400)
    pert, gene = rng.integers(0, 25, 400), rng.integers(0, 30, 400)
    a, b = (
        scores_from_probabilities(de, up),
        scores_from_probabilities(de + rng.normal(0, 0.2, 400), rng.random(400)),
    )
    found = compare_macro(*(scored_rows(labels, one, pert, gene) for one in (a, b)))
    questions = {
        "de": (labels != "", labels != "none", "p_de"),
        "dir": (labels != "none", labels == "up", "p_up"),
    }
    for metric, (counted, positive, name) in questions.items():
        genes = [
            rows
            for one in np.unique(gene)
            if len(set(positive[rows := counted & (gene == one)])) == 2
        ]
        of_a, of_b = (
            np.array([roc_auc_score(positive[rows], getattr(run, name)[rows]) for rows in genes])
            for run in (a, b)
        )
        part = getattr(found, metric)
        assert (part.before.value, part.after.value) == pytest.approx(
            (of_a.mean(), of_b.mean()), abs=1e-12
        )
        assert part.change.value == pytest.approx((of_b - of_a).mean(), abs=1e-12)
        assert part.change.gene.se == pytest.approx(
            np.std(of_b - of_a, ddof=1) / np.sqrt(len(genes))
        )
    assert found.mean.change.value == pytest.approx(
        (found.de.change.value + found.dir.change.value) / 2
    )


def test_a_run_beside_itself_does_not_change_the_macro_score() -> None:
    rng = np.random.default_rng(6)
    labels, de, up = some_rows(rng, 200)
    rows = scored_rows(
        labels, scores_from_probabilities(de, up), rng.integers(0, 9, 200), rng.integers(0, 9, 200)
    )
    found = compare_macro(rows, rows)
    assert [
        (part.change.value, part.change.shown.se) for part in (found.de, found.dir, found.mean)
    ] == [(0.0, 0.0)] * 3
