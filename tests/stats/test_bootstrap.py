from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from core.base.errors import InputError
from core.stats import bootstrap, validate
from core.stats.bootstrap import (
    ResamplingPlan,
    ResamplingUnit,
    bootstrap_difference,
    bootstrap_score,
    combine_axes,
    resampling_weights,
)
from core.stats.official_score import point_score, score_with_intervals
from core.stats.scores_and_labels import Scores, scores_from_probabilities
from tests.stats.oracles import some_rows

RNG = np.random.default_rng(41)
LABELS, DE, UP = some_rows(RNG, 250)
A, B = (
    scores_from_probabilities(DE, UP),
    scores_from_probabilities(DE + 0.5 * RNG.random(250), UP + 0.5 * RNG.random(250)),
)
PERT, GENE = RNG.integers(0, 30, 250), RNG.integers(0, 40, 250)
UNITS = ["row", "pert", "gene", "two-way"]


def axes(unit: ResamplingUnit) -> list[np.ndarray]:
    """The unit of each row on every resampled axis."""
    pert, gene = validate.codes("pert", PERT), validate.codes("gene", GENE)
    return {"row": [np.arange(250)], "pert": [pert], "gene": [gene], "two-way": [pert, gene]}[unit]


def row_weights(plan: ResamplingPlan) -> np.ndarray:
    """Weight of each row (first axis) in each resample."""
    weights = np.concatenate(list(resampling_weights(axes(plan.unit), plan)), axis=1)
    return weights if plan.unit == "two-way" else weights[axes(plan.unit)[0]]


def loop(plan: ResamplingPlan, *runs: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """(de, dir, mean) of each run in each resample: rows repeated by their weight, scored by scikit-learn."""
    values = []
    for weights in row_weights(plan).T:
        rows = np.repeat(np.arange(250), weights.astype(int))
        effect = LABELS[rows] != "none"
        for de, up in runs:
            pair = (
                roc_auc_score(effect, de[rows]),
                roc_auc_score(LABELS[rows][effect] == "up", up[rows][effect]),
            )
            values.append((*pair, sum(pair) / 2))
    return np.array(values).reshape(plan.resamples, len(runs), 3)


@pytest.mark.few(2)
@pytest.mark.parametrize("unit", UNITS)
def test_equals_a_loop_over_scikit_learn_with_the_same_weights(unit: ResamplingUnit) -> None:
    plan = ResamplingPlan(unit, seed=3, resamples=60)
    values = loop(plan, (A.p_de, A.p_up))[:, 0]
    found = bootstrap_score(LABELS, A, plan, PERT, GENE)
    for k, metric in enumerate((found.de, found.dir, found.mean)):
        assert (metric.low, metric.high) == pytest.approx(
            tuple(np.quantile(values[:, k], [0.025, 0.975])), abs=1e-12
        )
        assert metric.se == pytest.approx(values[:, k].std(ddof=1), abs=1e-12)
        assert metric.p_gt_0 == np.mean(values[:, k] > 0.5)


@pytest.mark.few(1)
@pytest.mark.parametrize("unit", UNITS)
def test_a_difference_scores_both_runs_in_the_same_resamples(unit: ResamplingUnit) -> None:
    plan = ResamplingPlan(unit, seed=4, resamples=60)
    values = loop(plan, (A.p_de, A.p_up), (B.p_de, B.p_up))
    changes = (values[:, 1] - values[:, 0])[:, 2]
    found = bootstrap_difference(LABELS, A, B, plan, PERT, GENE).mean
    assert (found.low, found.high) == pytest.approx(
        tuple(np.quantile(changes, [0.025, 0.975])), abs=1e-12
    )
    assert found.p_gt_0 == np.mean(changes > 0)
    assert found.estimate == pytest.approx(
        point_score(LABELS, B).mean - point_score(LABELS, A).mean, abs=1e-12
    )


def test_the_record_says_what_was_done() -> None:
    found = bootstrap_score(LABELS, A, ResamplingPlan("pert", seed=9, resamples=50), PERT, GENE)
    score = point_score(LABELS, A)
    assert (found.de.estimate, found.dir.estimate, found.mean.estimate) == pytest.approx(
        (score.de, score.dir, score.mean)
    )
    assert (found.de.n, found.dir.n, found.mean.n) == (250, score.n_de, 250)
    assert (found.mean.unit, found.mean.method, found.mean.resamples, found.mean.seed) == (
        "pert",
        "bootstrap",
        50,
        9,
    )
    assert (
        bootstrap_score(LABELS, A, ResamplingPlan("two-way", 9, 50), PERT, GENE).de.method
        == "product bootstrap"
    )


@pytest.mark.parametrize("unit", UNITS)
def test_resamples_do_not_depend_on_the_size_of_the_blocks(
    unit: ResamplingUnit, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = ResamplingPlan(unit, seed=5, resamples=70)
    whole = row_weights(plan)
    monkeypatch.setattr(bootstrap, "BLOCK_WEIGHTS", 250 * 11)
    assert (row_weights(plan) == whole).all()
    monkeypatch.setattr(bootstrap, "BLOCK_WEIGHTS", 1)
    assert (row_weights(plan) == whole).all()


def test_a_seed_repeats_and_another_one_differs() -> None:
    first, again, other = (
        bootstrap_score(LABELS, A, ResamplingPlan("row", seed, 50), PERT, GENE).mean
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first.low != other.low


def test_units_are_drawn_with_replacement_as_many_as_there_are() -> None:
    for unit, n in (("row", 250), ("pert", 30), ("gene", 40)):
        plan = ResamplingPlan(unit, seed=6, resamples=2000)  # type: ignore[arg-type]
        drawn = np.concatenate(list(resampling_weights(axes(plan.unit), plan)), axis=1)
        assert (drawn.sum(axis=0) == n).all()
        # a multinomial count of n draws from n units has mean 1 and variance 1 - 1/n
        assert drawn.mean() == pytest.approx(1)
        assert drawn.var() == pytest.approx(1 - 1 / n, rel=0.02)


def test_both_axes_multiply() -> None:
    plan = ResamplingPlan("two-way", seed=7, resamples=40)
    (pert, gene), weights = axes("two-way"), row_weights(plan)
    alone = np.concatenate(list(resampling_weights([pert], plan)), axis=1)[pert]
    assert (weights[alone == 0] == 0).all()
    assert (weights[alone > 0] % alone[alone > 0] == 0).all()
    same_gene = weights[gene == 0] / np.where(alone[gene == 0] > 0, alone[gene == 0], np.nan)
    spread = np.nanmax(same_gene, axis=0) - np.nanmin(same_gene, axis=0)
    assert (spread == 0).all()  # what is left is the gene's own weight


def test_the_axes_are_drawn_independently_of_each_other() -> None:
    plan, units = ResamplingPlan("two-way", seed=7, resamples=2000), np.arange(40)
    weights = np.concatenate(list(resampling_weights([units, units], plan)), axis=1)
    # a product of two independent counts has mean 1; of a count with itself, 1 + its variance, about 2
    assert weights.mean() == pytest.approx(1, abs=0.05)


def test_directions_that_one_run_lacks_are_left_out_for_both() -> None:
    inside, plan = np.arange(250) >= 80, ResamplingPlan("row", seed=1, resamples=50)
    lacking = Scores(B.p_de, np.where(inside, B.p_up, np.nan))
    found = bootstrap_difference(LABELS, A, lacking, plan, PERT, GENE).dir
    both = (
        point_score(LABELS[inside], B.take(inside)).dir
        - point_score(LABELS[inside], A.take(inside)).dir
    )
    assert found.estimate == pytest.approx(both, abs=1e-12)
    assert found.n == (LABELS[inside] != "none").sum()


def test_size_draws_more_or_fewer_units() -> None:
    plan = ResamplingPlan("row", seed=8, resamples=400, size=0.25)
    assert (row_weights(plan).sum(axis=0) == 62).all()
    full, quarter = (
        bootstrap_score(LABELS, A, ResamplingPlan("row", 8, 2000, size), PERT, GENE).mean.se
        for size in (1.0, 0.25)
    )
    assert quarter / full == pytest.approx(2, rel=0.1)


def test_row_bootstrap_agrees_with_delong_and_the_product_overstates() -> None:
    plans = [ResamplingPlan(unit, seed=10, resamples=3000) for unit in UNITS]
    row, pert, gene, product = (bootstrap_score(LABELS, A, plan, PERT, GENE).mean for plan in plans)
    analytic = score_with_intervals(LABELS, A, PERT, GENE).mean
    for resampled, exact in ((row, analytic.row), (pert, analytic.pert), (gene, analytic.gene)):
        assert resampled.se == pytest.approx(exact.se, rel=0.08)
    combined = combine_axes(row, pert, gene)
    assert combined.se**2 == pytest.approx(pert.se**2 + gene.se**2 - row.se**2)
    assert product.se > 1.2 * combined.se
    assert (combined.unit, combined.estimate) == ("two-way", row.estimate)


def test_resamples_without_both_classes_are_counted() -> None:
    labels = ["up", "none", "none", "none", "down"]
    found = bootstrap_score(
        labels,
        scores_from_probabilities([5, 1, 2, 3, 4], [0.5] * 5),
        ResamplingPlan("row", 1, 400),
        range(5),
        range(5),
    )
    # no effect at all with probability (3/5)^5 = 0.078, nothing but effects with (2/5)^5 = 0.010: 35 of 400
    assert 15 < found.de.undefined < 60
    assert found.dir.undefined > found.de.undefined
    assert (found.de.low, found.de.high) == (
        1.0,
        1.0,
    )  # the others all have every effect above every none


@pytest.mark.parametrize("unit", UNITS)
def test_without_labels_there_is_nothing_to_resample(unit: ResamplingUnit) -> None:
    found = bootstrap_score([None] * 250, A, ResamplingPlan(unit, 1, 20), PERT, GENE).mean
    assert np.isnan([found.estimate, found.low, found.high, found.p_gt_0]).all()
    assert (found.n, found.undefined) == (0, 20)


def test_unlabelled_rows_are_never_drawn() -> None:
    hidden = np.where(np.arange(250) % 3 == 0, None, LABELS.astype(object))
    known = np.arange(250) % 3 != 0
    for unit in UNITS:
        some = bootstrap_score(hidden, A, ResamplingPlan(unit, 2, 50), PERT, GENE).mean
        alone = bootstrap_score(
            LABELS[known], A.take(known), ResamplingPlan(unit, 2, 50), PERT[known], GENE[known]
        ).mean
        assert some == alone


def test_a_run_against_itself_is_even() -> None:
    found = bootstrap_difference(LABELS, A, A, ResamplingPlan("row", 1, 50), PERT, GENE).mean
    assert (found.estimate, found.low, found.high, found.p_gt_0) == (0.0, 0.0, 0.0, 0.5)


def test_memory_is_bounded_by_the_block() -> None:
    labels, de, up = some_rows(np.random.default_rng(1), 7705, levels=10**6)
    codes, scores = np.arange(7705) % 386, scores_from_probabilities(de, up)
    tracemalloc.start()
    bootstrap_score(labels, scores, ResamplingPlan("two-way", 1, 300), codes, codes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (
        peak < 30e6
    )  # 300 resamples of 7,705 weights are 18 MB, and three arrays of that size would be needed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cell", 1), "unit: got 'cell'; expected row, pert, gene or two-way"),
        (("row", -1), "seed: got -1"),
        (("row", 1, 1), "resamples: got 1"),
        (("row", 1, 10, 0.0), "size: got 0.0"),
    ],
)
def test_a_broken_plan_is_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ResamplingPlan(*arguments)  # type: ignore[arg-type]


def test_arrays_of_different_length_are_refused() -> None:
    with pytest.raises(InputError, match="labels has 250, scores has 250, pert has 249"):
        bootstrap_score(LABELS, A, ResamplingPlan("row", 1, 10), PERT[1:], GENE)
