"""Score labels permuted inside groups. This shows how much of an AUROC the groups explain."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from core.base.errors import InputError
from core.stats import validate
from core.stats.arrays import Codes, Floats, codes_or_one, count_codes, sum_by_group
from core.stats.auroc import placements
from core.stats.scores_and_labels import ScoredRows, Task, combine_codes, tasks


def scores_of_permuted_labels(
    rows: ScoredRows, group: Codes, n: int, rng: np.random.Generator, macro: Codes | None = None
) -> Floats:
    """Return DE and DIR of the rows' scores with labels permuted among the labelled rows of each
    group, of shape (n, 2).

    macro: codes of shape (n_rows,), the AUROCs inside them are averaged; None: all pairs (of a
    cell) count.
    """
    labelled = rows.outcome.labelled
    labelled_rows, strata = rows.take(labelled), group[labelled]
    inside = codes_or_one(macro, len(labelled))[labelled]
    in_order = np.argsort(strata, kind="stable")
    source = np.empty_like(in_order)
    values = np.empty((n, 2))
    for i in range(n):
        source[in_order] = np.lexsort((rng.random(len(strata)), strata))
        values[i] = [
            _mean_auroc(task, inside, labelled_rows.cells)
            for task in tasks(labelled_rows.outcome.take(source), labelled_rows.scores)
        ]
    return values


def _mean_auroc(task: Task, group: Codes, cells: Codes | None) -> float:
    """Return the mean over groups of the AUROC of pairs inside a group and cell; NaN if none has
    both classes."""
    rows = task.rows
    group, positive = group[rows], task.positive[rows]
    inner = combine_codes(group, None if cells is None else cells[rows])
    assert inner is not None
    placed = placements(positive, task.values[rows], inner)
    n_groups = count_codes(group)
    won, pairs = (
        sum_by_group(group, n_groups, np.where(positive, each, 0.0))
        for each in (placed.won, placed.negatives[inner])
    )
    return float((won[pairs > 0] / pairs[pairs > 0]).mean()) if pairs.any() else float("nan")


MOST_WAYS = 200_000  # to share out the numbers: 184,756 for 10 against 10
_SAME = 1e-12  # of the sum of absolute numbers: two sums that are equal but for rounding tie


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """The two-sided test of a difference of means. p: NaN where a sample is empty. difference: of
    the means, b less a.

    ways: to share out the numbers. smallest_p: what p is at least for samples of these sizes.
    """

    p: float
    difference: float
    ways: int
    smallest_p: float


def permutation_test(a: ArrayLike, b: ArrayLike) -> PermutationTest:
    """Return the exact two-sided permutation test of whether the means of two samples differ.

    a, b: finite numbers of shape (n_a,) and (n_b,). p is twice the smaller of two shares: of
    permutations with a difference at least as large, and at most as large, as the observed one. p
    is at most 1; this is the p of `scipy.stats.permutation_test`. Raise InputError for other
    numbers, and for samples with more than MOST_WAYS ways.
    """
    first, second = validate.numbers("a", a), validate.numbers("b", b)
    n, k = len(first) + len(second), len(second)
    ways = comb(n, k)
    if ways > MOST_WAYS:
        raise InputError(
            f"samples of {n - k} and {k} numbers: {ways:,} ways to share them out, expected"
            f" {MOST_WAYS:,} at most"
        )
    if not 0 < k < n:
        return PermutationTest(float("nan"), float("nan"), ways, float("nan"))
    values = np.concatenate((second, first))
    # For given sizes the sum of the second sample grows with the difference of the means.
    sums = values[np.array(list(combinations(range(n), k)))].sum(axis=1)
    near = _SAME * np.abs(values).sum()
    tails = (sums >= sums[0] - near).mean(), (sums <= sums[0] + near).mean()
    difference = float(second.mean() - first.mean())
    return PermutationTest(min(1.0, 2 * float(min(tails))), difference, ways, min(1.0, 2 / ways))


MOST_ENUMERATED = 12  # clusters: 4,096 patterns of signs
DRAWN = 9_999  # number of random sign patterns, if there are too many to try all
_AT_A_TIME = 1_000  # patterns
# of the sum of absolute cluster sums: two sums that are equal but for rounding tie
_SAME_SUM = 1e-12


def sign_flip_test(
    differences: ArrayLike, clusters: ArrayLike, rng: np.random.Generator, drawn: int = DRAWN
) -> float:
    """Return the one-sided p of paired differences being above 0 on average, flipping whole
    clusters; NaN without rows.

    differences: finite numbers of shape (n_rows,). clusters: names or codes of shape (n_rows,). p
    is the share of all patterns of signs, the observed one among them, whose sum is at least as
    large; if there are more than 2^12 patterns, `drawn` random ones are used, and p is (1 + number
    at least as large) / (1 + drawn). Raise InputError for other numbers.
    """
    values, codes = (
        validate.numbers("differences", differences),
        validate.codes("clusters", clusters),
    )
    validate.same_length(differences=values, clusters=codes)
    if not len(values):
        return float("nan")
    sums = sum_by_group(codes, int(codes.max()) + 1, values)
    sums = sums[np.abs(sums) > _SAME_SUM * np.abs(values).max()]  # flips do not change zeros
    least = sums.sum() - _SAME_SUM * np.abs(sums).sum()
    k = len(sums)
    if k <= MOST_ENUMERATED:
        patterns = 1 - 2 * (np.arange(2**k)[:, None] >> np.arange(k) & 1)
        return float((patterns @ sums >= least).mean())
    above = 0
    for start in range(0, drawn, _AT_A_TIME):
        patterns = 2 * rng.integers(0, 2, (min(_AT_A_TIME, drawn - start), k), dtype=np.int8) - 1
        above += int((patterns @ sums >= least).sum())
    return (1 + above) / (1 + drawn)
