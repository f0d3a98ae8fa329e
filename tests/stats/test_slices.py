from __future__ import annotations

import numpy as np
import pytest

from core.stats.intervals import BY_CHANCE, TOO_FEW
from core.stats.official_score import point_score, score_with_intervals
from core.stats.scores_and_labels import scores_from_probabilities
from core.stats.slices import by_slice
from tests.stats.oracles import some_rows, wins

RNG = np.random.default_rng(31)
LABELS, DE, UP = some_rows(RNG, 400)
SCORES = scores_from_probabilities(DE, UP)
PERT, GENE = RNG.integers(0, 25, 400), RNG.integers(0, 30, 400)
SLICES = RNG.choice(["kinase", "none", "receptor"], 400)


def test_counts_sum_to_the_whole() -> None:
    hidden = np.where(np.arange(400) % 5 == 0, None, LABELS.astype(object))
    found, whole = by_slice(hidden, SCORES, SLICES, PERT, GENE), point_score(hidden, SCORES)
    assert [s.name for s in found] == ["kinase", "none", "receptor"]
    for count in ("n", "n_labelled", "n_de"):
        assert sum(getattr(s, count) for s in found) == getattr(whole, count)


def test_a_slice_scores_like_its_rows_alone() -> None:
    for found in by_slice(LABELS, SCORES, SLICES, PERT, GENE):
        inside = found.name == SLICES
        alone = score_with_intervals(
            LABELS[inside], SCORES.take(inside), PERT[inside], GENE[inside]
        )
        for metric in ("de", "dir", "mean"):
            ours, theirs = getattr(found, metric).score, getattr(alone, metric)
            assert ours.value == pytest.approx(theirs.value, abs=1e-15)
            for unit in ("row", "pert", "gene", "two_way", "shown"):
                assert getattr(ours, unit).se == pytest.approx(getattr(theirs, unit).se, abs=1e-12)
                assert getattr(ours, unit).n == getattr(theirs, unit).n


def test_losses_sum_to_what_the_whole_lacks_and_costs_to_nothing() -> None:
    found, whole = by_slice(LABELS, SCORES, SLICES, PERT, GENE), point_score(LABELS, SCORES)
    for metric in ("de", "dir", "mean"):
        assert sum(getattr(s, metric).loss for s in found) == pytest.approx(
            1 - getattr(whole, metric), abs=1e-12
        )
        assert sum(getattr(s, metric).cost for s in found) == pytest.approx(0, abs=1e-12)


def test_a_pair_is_charged_half_to_each_of_its_rows() -> None:
    effect = LABELS != "none"
    lost = 1 - wins(effect, DE)
    expected = (
        lost[SLICES[effect] == "kinase"].sum() + lost[:, SLICES[~effect] == "kinase"].sum()
    ) / (2 * lost.size)
    assert by_slice(LABELS, SCORES, SLICES, PERT, GENE)[0].de.loss == pytest.approx(
        expected, abs=1e-12
    )


def test_cost_by_hand() -> None:
    # Effects at 4 (x) and 1 (y), nones at 3 (x) and 2 (y): the effect at 1 loses both its pairs, AUROC 1/2.
    # x owns half of the pair (1, 3): loss 1/8. y owns the rest: 3/8. Each would usually lose 1/4.
    x, y = by_slice(
        ["up", "down", "none", "none"],
        scores_from_probabilities([4, 1, 3, 2], [0.5] * 4),
        list("xyxy"),
        range(4),
        range(4),
    )
    assert (x.de.loss, y.de.loss) == (0.125, 0.375)
    assert (x.de.cost, y.de.cost) == (-0.125, 0.125)
    assert (x.dir.loss, y.dir.loss) == (0.25, 0.25)  # one tied pair: half of it lost, shared


def test_a_slice_of_one_class_is_undefined_and_still_charged() -> None:
    found = by_slice(
        ["up", "down", "none", "none"],
        scores_from_probabilities([4, 1, 3, 2], [0.5] * 4),
        [1, 1, 2, 2],
        range(4),
        range(4),
    )
    assert np.isnan([s.de.score.value for s in found]).all()
    assert sum(s.de.loss for s in found) == pytest.approx(0.5)


def test_without_labels_slices_only_count() -> None:
    (found,) = by_slice(
        [None] * 3, scores_from_probabilities([0.1] * 3, [0.1] * 3), ["a"] * 3, range(3), range(3)
    )
    assert (found.n, found.n_labelled) == (3, 0)
    assert np.isnan([found.mean.score.value, found.mean.loss, found.mean.cost]).all()


def test_a_slice_of_one_perturbation_takes_its_interval_from_its_genes() -> None:
    for found in by_slice(LABELS, SCORES, PERT, PERT, GENE):
        inside = found.name == PERT.astype(str)
        effect = inside & (LABELS != "none")
        for part, rows in ((found.de, inside), (found.dir, effect), (found.mean, effect)):
            if not np.isnan(part.score.value):
                assert (part.score.shown.unit, part.score.shown.clusters) == (
                    "gene",
                    len(set(GENE[rows])),
                )
                expected = max(part.score.row.se, part.score.gene.se)
                unknown = part.score.shown.method in (TOO_FEW, BY_CHANCE)
                degenerate = (
                    np.isnan(expected) or (expected == 0 and part.score.value in (0, 1)) or unknown
                )
                assert (
                    np.isnan(part.score.shown.se) if degenerate else part.score.shown.se == expected
                )
