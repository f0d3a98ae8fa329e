"""The paired comparison of two runs: is run b better than run a on their shared rows?

Two runs can be called equal: two one-sided tests against a margin that a person names (Schuirmann
1987).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Codes
from core.stats.cell_auroc import influence_within_cells
from core.stats.delong import Dependence, Estimate, dependence_of, estimates_from, widen
from core.stats.influence import Influence
from core.stats.intervals import Interval, p_gt_0
from core.stats.official_score import DE, DIR, MEAN, Metrics, row_counts
from core.stats.power import detectable_difference
from core.stats.scores_and_labels import ScoredRows, Scores, outcome_of, shared_rows, tasks
from core.stats.within_axis import macro_influence

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Whether a difference lies within ± margin.

    p_below: the p-value of the hypothesis that it is -margin or less; p_above: that it is margin or
    more; p: the larger of the two. low, high: the 90% interval, which lies inside the margin
    exactly if p is below 5%. smallest_margin: the smallest margin that would pass the test. All NaN
    without a standard error.
    """

    margin: float
    p_below: float
    p_above: float
    p: float
    low: float
    high: float
    smallest_margin: float
    json_properties = ("equal",)

    @property
    def equal(self) -> bool:
        """Whether the two are equal within the margin at the 5% level."""
        return self.p < LEVEL


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric of a run (before) and of another one or of a fusion (after), and the change, each
    with intervals by row, perturbation, gene and both axes."""

    before: Estimate
    after: Estimate
    change: Estimate

    @property
    def p_gt_0(self) -> float:
        """The probability that b is better, by the interval shown."""
        return p_gt_0(self.change.shown)

    @property
    def detectable(self) -> float:
        """The smallest true difference that two such runs would show with 80% power on as many
        rows."""
        return detectable_difference(self.change.shown.se, df=self.change.shown.df)


def widen_difference(part: Difference, of_a: float, of_b: float, of_change: float) -> Difference:
    """Return a difference with the variances between cuts added to each run's interval and to that
    of the change."""
    return Difference(
        widen(part.before, of_a),
        widen(part.after, of_b),
        widen(part.change, of_change, (-1.0, 1.0)),
    )


@dataclass(frozen=True, slots=True)
class Comparison(Metrics[Difference]):
    """Run b against run a, in DE, DIR and their mean."""

    @property
    def json_value(self) -> dict[str, object]:
        """The numbers of rows and the changes, as every command prints them."""
        changes = {f"delta_{name.lower()}": part.change for name, part in self.parts.items()}
        counts = {"n": self.n, "n_labelled": self.n_labelled, "n_de": self.n_de}
        return {**counts, **changes, "p_gt_0": self.mean.p_gt_0, "detectable": self.mean.detectable}


def compare(
    labels: ArrayLike,
    a: Scores,
    b: Scores,
    pert: ArrayLike,
    gene: ArrayLike,
    cells: Codes | None = None,
) -> Comparison:
    """Return paired differences b - a in DE, DIR and their mean; every argument of shape (n_rows,),
    one row per shared pair.

    DIR counts rows for which both runs have a p_up. cells: codes, only pairs of rows inside one
    cell count; None: all pairs. NaN throughout without labels.
    """
    outcome = outcome_of(labels)
    perts, genes = validate.axes(pert, gene)
    n = validate.same_length(labels=outcome.labelled, a=a, b=b, pert=perts, gene=genes)
    first, second = shared_rows(a, b)
    influence = influence_within_cells([*tasks(outcome, first), *tasks(outcome, second)], cells)
    return Comparison(
        *row_counts(outcome, n),
        *paired_estimates(influence, dependence_of(influence, perts, genes)),
    )


def compare_macro(a: ScoredRows, b: ScoredRows) -> Comparison:
    """Compare as `compare` does, but by the mean over genes of the AUROC inside each; b has the
    rows of a, in their order."""
    first, second = shared_rows(a.scores, b.scores)
    both = [*tasks(a.outcome, first), *tasks(a.outcome, second)]
    influence, dependence = macro_influence(both, a)
    return Comparison(*row_counts(a.outcome, len(a.pert)), *paired_estimates(influence, dependence))


def paired_estimates(influence: Influence, dependence: Dependence) -> list[Difference]:
    """Return the differences in DE, DIR and their mean.

    influence: of four AUROCs, DE and DIR of the first run and of the second, without strata.
    """
    none = np.zeros(2)
    metrics = (DE, DIR, MEAN)
    values = [
        np.concatenate(sides) for metric in metrics for sides in ((metric, none), (none, metric))
    ]
    scores = [one[0] for one in estimates_from(influence, dependence, values)]
    changes = estimates_from(
        influence,
        dependence,
        [np.concatenate((-metric, metric)) for metric in metrics],
        (-1.0, 1.0),
    )
    return [
        Difference(a, b, change[0])
        for a, b, change in zip(scores[::2], scores[1::2], changes, strict=True)
    ]


def equivalence(change: Interval, margin: float) -> Equivalence:
    """Test whether a difference is smaller than `margin` either way, by Student's t if the interval
    has clusters.

    The margin has to be named before looking: it is the largest difference that would not matter.
    """
    from scipy.special import stdtrit

    validate.between("margin", margin, 0, float("inf"))
    reach = float(stdtrit(change.df, 1 - LEVEL)) * change.se
    low, high = change.estimate - reach, change.estimate + reach
    p_below, p_above = (
        _one_sided_p(change.estimate + margin, change),
        _one_sided_p(margin - change.estimate, change),
    )
    p = float(np.maximum(p_below, p_above))
    return Equivalence(margin, p_below, p_above, p, low, high, float(np.maximum(-low, high)))


def _one_sided_p(distance: float, change: Interval) -> float:
    """Return the p-value of the hypothesis that a distance, with the standard error of `change`, is
    0 or less."""
    from scipy.special import stdtr

    if change.se == 0:
        return float(distance <= 0)
    return float(stdtr(change.df, -distance / change.se))


Verdict = Literal["confirmed", "confirmed, small", "rejected", "harmful", "undecided", "no verdict"]
Side = Literal["above", "below", "open", "none"]


def side_of(change: Interval) -> Side:
    """Return the side of a difference's interval: above 0, below 0, both ("open"), or "none"
    without an interval."""
    if math.isnan(change.low) or math.isnan(change.high):
        return "none"
    return "above" if change.low > 0 else "below" if change.high < 0 else "open"


def verdict_of(change: Interval, smallest: float) -> Verdict:
    """Return the verdict on a difference; smallest: the smallest worth having, above 0.

    confirmed: low > 0 and estimate >= smallest. confirmed, small: low > 0 and high < smallest, real
    and not worth having. harmful: high < 0. rejected: high < smallest. undecided: anything else. no
    verdict: without an interval.
    """
    side = side_of(change)
    if side == "none":
        return "no verdict"
    if side == "above" and change.estimate >= smallest:
        return "confirmed"
    if change.high < smallest:
        return (
            "confirmed, small" if side == "above" else "harmful" if side == "below" else "rejected"
        )
    return "undecided"
