"""Rank-percentile fusion: fused = Σ w · pct(component), separately for an effect and for its
direction.

Recover a component's percentiles from a base run and a fusion of the two: pct(other) = (fused -
(1-w)·pct(base)) / w.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.base.errors import InputError, SettingError
from core.base.result import hidden
from core.base.types import STAND_INS, Flag
from core.stats import validate
from core.stats.arrays import Bools, Codes, Floats
from core.stats.cell_auroc import influence_within_cells
from core.stats.comparison import Difference, paired_estimates
from core.stats.delong import dependence_of
from core.stats.official_score import Metrics, row_counts
from core.stats.ranks import nearest_percentiles, percentiles, percentiles_against
from core.stats.scores_and_labels import (
    Outcome,
    Scores,
    outcome_of,
    ranked_scores,
    shared_rows,
    submitted_parts,
    tasks,
)
from core.transfer.row_index import Rows

# files have six decimals: a number this close to the base's percentile counts as equal to it
SAME = 5e-6
FAR = 0.25  # in steps between percentiles; with a wrong weight, half of the rows are farther away


@dataclass(frozen=True, slots=True, eq=False)
class RecoveredComponent:
    """The other component's percentiles, of shape (n_rows,), NaN for rows that it does not cover.

    farthest: the largest distance before rounding, for DE and for DIR, from a number to the nearest
    possible percentile, in steps between percentiles.
    """

    p_de: Floats
    p_up: Floats
    farthest: tuple[float, float]

    @property
    def uncovered(self) -> Bools:
        return np.isnan(self.p_de)


Reference = Literal["population", "train"]
TOLERANCE = 1e-9  # the sum of weights may exceed 1 by this much


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """One run's scores on the rows of the base run, of shape (n_rows,), NaN for rows that it does
    not cover.

    reference_de, reference_up: its scores on labelled rows (a kNN's own fold priors), of any
    length; None if it has none. weight_scale: a factor of its weight in each row, of shape
    (n_rows,), in [0, 1]; None for 1. The base has none.
    """

    name: str
    p_de: Floats
    p_up: Floats
    reference_de: Floats | None = None
    reference_up: Floats | None = None
    weight_scale: Floats | None = None

    def scaled(self, factor: Floats) -> Component:
        """Return it with its weight in each row multiplied by a factor, of shape (n_rows,)."""
        before = 1.0 if self.weight_scale is None else self.weight_scale
        return replace(self, weight_scale=before * factor)


@dataclass(frozen=True, slots=True, eq=False)
class Percentiles:
    """Each component's percentiles, of shape (n_components, n_rows), NaN for rows that it does not
    cover.

    weight_scale: factors of all weights except the base's, of the same shape; None if no weight is
    scaled.
    """

    de: Floats
    up: Floats
    weight_scale: Floats | None = None

    def take(self, rows: NDArray[np.intp]) -> Percentiles:
        """Return the percentiles of some rows, in this order."""
        scale = None if self.weight_scale is None else self.weight_scale[:, rows]
        return Percentiles(self.de[:, rows], self.up[:, rows], scale)


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Weights of at least 0 that sum to 1, of shape (n_components,), or (n_components, n_rows) if
    they differ by row."""

    de: Floats
    up: Floats


@dataclass(frozen=True, slots=True, eq=False)
class FusionResult:
    """The fused scores p_de and p_up, of shape (n_rows,), in (0, 1).

    uncovered: flags of the rows where some component has no score of an effect.
    """

    p_de: Floats
    p_up: Floats
    uncovered: Bools

    def scores(self) -> Scores:
        """Return the scores as they will be ranked after submission."""
        return ranked_scores(*submitted_parts(self.p_de, self.p_up))


def component_of(
    name: str,
    wanted: Sequence[str],
    pair_ids: Collection[str],
    p_de: ArrayLike,
    p_up: ArrayLike,
    flags: Iterable[Collection[str]],
) -> Component:
    """Return a run's scores in the order of the wanted pair ids, NaN for missing rows and for
    fallbacks.

    pair_ids, p_de, p_up, flags: of the run's rows, all of one length.
    """
    de, up = np.array(p_de, dtype=np.float64), np.array(p_up, dtype=np.float64)
    # Most rows have no flags, and looking them up in arrays (which frames contain) is slow.
    flagged = [(row, frozenset(row_flags)) for row, row_flags in enumerate(flags) if len(row_flags)]
    de[[row for row, row_set in flagged if not row_set.isdisjoint((*STAND_INS, Flag.NO_DE))]] = (
        np.nan
    )
    up[
        [
            row
            for row, row_set in flagged
            if not row_set.isdisjoint((*STAND_INS, Flag.UNCOVERED_DIR, Flag.NO_DIR))
        ]
    ] = np.nan
    position_of = dict(zip(pair_ids, range(len(pair_ids)), strict=True))
    positions = np.array([position_of.get(pair_id, -1) for pair_id in wanted], dtype=np.intp)
    if not len(de):  # no row of the run was predicted
        return Component(name, *np.full((2, len(positions)), np.nan))
    covered = positions >= 0
    return Component(
        name, np.where(covered, de[positions], np.nan), np.where(covered, up[positions], np.nan)
    )


def weights_of(others_de: ArrayLike, others_up: ArrayLike) -> Weights:
    """Return the weights of all components, the base first. The base gets what the weights of the
    others leave of 1.

    Each of shape (n_others,), or (n_others, n_rows) for weights that differ by row. Raise
    InputError for a weight below 0 or a sum above 1.
    """
    return Weights(_weights_with_base("w_de", others_de), _weights_with_base("w_dir", others_up))


def shares_of(weights: ArrayLike) -> Floats:
    """Return the effective weights of all components except the base, of shape (…, n_others):
    scaled to sum to 1 if they exceed it.
    """
    array = np.asarray(weights, dtype=np.float64)
    return np.asarray(array / np.maximum(array.sum(axis=-1, keepdims=True), 1.0))


def percentiles_of(
    components: Sequence[Component], reference: Reference = "population"
) -> Percentiles:
    """Return each component's percentiles, among the rows themselves or against its reference run.

    Against a reference, a row's percentile does not depend on the other rows. Raise InputError for
    a component without a reference.
    """
    if not components:
        raise InputError("components: got none; expected at least the base")
    validate.same_length(
        **{
            name: column
            for c in components
            for name, column in [(f"{c.name} p_de", c.p_de), (f"{c.name} p_up", c.p_up)]
        }
    )
    scale = None
    if any(c.weight_scale is not None for c in components):
        scale = np.stack(
            [np.ones(len(c.p_de)) if c.weight_scale is None else c.weight_scale for c in components]
        )
    if reference == "population":
        return Percentiles(
            np.stack([percentiles(c.p_de) for c in components]),
            np.stack([percentiles(c.p_up) for c in components]),
            scale,
        )
    return Percentiles(
        np.stack([_percentiles_against_reference(c, c.reference_de, c.p_de) for c in components]),
        np.stack([_percentiles_against_reference(c, c.reference_up, c.p_up) for c in components]),
        scale,
    )


def agreement_with_base(components: Percentiles) -> Floats:
    """Return how far each component agrees with the base in each row, of shape (n_components,
    n_rows), in [0, 1].

    Agreement is 1 − |difference of the percentiles|, averaged over DE and DIR; 1 in a row that one
    of them does not cover.
    """
    apart = np.stack(
        [np.abs(percentile - percentile[0]) for percentile in (components.de, components.up)]
    )
    is_known = ~np.isnan(apart)
    return np.asarray(
        1 - np.where(is_known, apart, 0.0).sum(axis=0) / np.maximum(is_known.sum(axis=0), 1)
    )


def weights_in_rows(components: Percentiles, weights: Weights) -> Weights:
    """Return each row's weights, of shape (n_components, n_rows): the others' scaled, the base's
    the rest.

    Without scales: unchanged.
    """
    if components.weight_scale is None:
        return weights
    scale = components.weight_scale[1:]
    return weights_of(
        *(
            scale * (part if part.ndim > 1 else part[:, None])[1:]
            for part in (weights.de, weights.up)
        )
    )


def fuse(components: Percentiles, weights: Weights) -> FusionResult:
    """Return the weighted mean of the percentiles of each row, with the components' weight scales
    applied.

    The weight of a component that does not cover a row goes to the others in proportion. If no
    component with a weight covers the row, the result is the base's percentile, or 0.5 if the base
    does not cover it either.
    """
    uncovered = ~np.logical_and.reduce(~np.isnan(components.de))
    weights = weights_in_rows(components, weights)
    return FusionResult(
        _weighted_mean(components.de, weights.de),
        _weighted_mean(components.up, weights.up),
        uncovered,
    )


def _weighted_mean(values: Floats, weights: Floats) -> Floats:
    """Return the weighted mean over components. A loop sums them, so that a row's bits do not
    depend on the number of rows."""
    if len(weights) != len(values):
        raise InputError(
            f"weights: got {len(weights)}; expected one for each of {len(values)} components"
        )
    total, weight = np.zeros((2, values.shape[1]))
    for pct, share in zip(values, weights, strict=True):
        covered = ~np.isnan(pct)
        total += np.where(covered, share * pct, 0.0)
        weight += share * covered
    base = np.where(np.isnan(values[0]), 0.5, values[0])
    return np.divide(total, weight, out=base, where=weight > 0)


def _weights_with_base(name: str, others: ArrayLike) -> Floats:
    array = np.asarray(others, dtype=np.float64)
    base = 1 - array.sum(axis=0)
    if not np.isfinite(array).all() or (array < 0).any() or np.min(base, initial=0.0) < -TOLERANCE:
        raise SettingError(
            name, f"got {array.tolist()}; expected weights from 0 that sum to at most 1"
        )
    return np.concatenate((np.maximum(base, 0.0)[None], array))


def _percentiles_against_reference(
    component: Component, reference: Floats | None, values: Floats
) -> Floats:
    if reference is None:
        raise InputError(
            f"component {component.name}: has no reference run on labelled rows for its"
            " percentiles; expected one, or percentiles over the population"
        )
    return percentiles_against(reference, values)


def decompose_fusion(base: Scores, fused: Scores, w_de: float, w_dir: float) -> RecoveredComponent:
    """Recover the component that was fused with the base at weights w_de and w_dir in (0, 1]; both
    runs of shape (n_rows,).

    base: with the probabilities that were ranked (from the trace, because sums of rounded
    predictions break ties of the fusion). Raise InputError if the results are not percentiles: then
    the weights or the runs differ from those of the fusion.
    """
    n = validate.same_length(base=base, fused=fused)
    for name, weight in (("w_de", w_de), ("w_dir", w_dir)):
        if not 0 < weight <= 1:
            raise SettingError(name, f"got {weight}; expected a weight above 0, up to 1")
    base_de, base_up = percentiles(base.p_de), percentiles(base.p_up)
    # A covered row may tie with the base in one of the two; p_up is a ratio of decimals, coarser if
    # p_de is small.
    covered = (np.abs(fused.p_de - base_de) >= SAME) | (
        np.abs(fused.p_up - base_up) * fused.p_de >= SAME
    )
    tasks = ("DE", fused.p_de, base_de, w_de), ("DIR", fused.p_up, base_up, w_dir)
    recovered, farthest = np.full((2, n), np.nan), []
    for column, (name, fused_pct, base_pct, weight) in zip(recovered, tasks, strict=True):
        values = ((fused_pct - (1 - weight) * base_pct) / weight)[covered]
        column[covered], distance = nearest_percentiles(values)
        if not distance <= FAR:  # rounding does not explain it
            raise InputError(
                f"{name}: a recovered percentile lies {distance:.2f} of a step from the grid of"
                f" {len(values)} ranks. Expected at most {FAR}: other weights, or not a fusion of"
                " this base"
            )
        farthest.append(distance)
    return RecoveredComponent(recovered[0], recovered[1], (farthest[0], farthest[1]))


@dataclass(frozen=True, slots=True)
class FusionComparison(Metrics[Difference]):
    """A fusion at some weights against the baseline, in DE, DIR and their mean; NaN without
    labels."""

    fused: FusionResult = hidden()


@dataclass(frozen=True, slots=True, eq=False)
class LiveFusion:
    """A fusion whose weights can change; made by `live_fusion`. cells: pairs are scored inside
    them, None: all pairs."""

    rows: Rows
    outcome: Outcome
    percentiles: Percentiles
    reference: Reference
    baseline: Scores
    cells: Codes | None

    def score_at(self, weights: Weights) -> FusionComparison:
        """Return the fusion at these weights: its scores, all metrics with intervals, and the
        changes against the baseline."""
        fused = fuse(self.percentiles, weights)
        before, after = shared_rows(self.baseline, fused.scores())
        influence = influence_within_cells(
            [*tasks(self.outcome, before), *tasks(self.outcome, after)], self.cells
        )
        dependence = dependence_of(influence, self.rows.pert, self.rows.gene)
        de, direction, mean = paired_estimates(influence, dependence)
        return FusionComparison(
            *row_counts(self.outcome, len(self.rows)), de, direction, mean, fused
        )


def live_fusion(
    labels: ArrayLike,
    rows: Rows,
    components: Sequence[Component],
    reference: Reference = "population",
    baseline: Scores | None = None,
    cells: Codes | None = None,
) -> LiveFusion:
    """Prepare a fusion of components, the base first, on rows of shape (n_rows,); baseline: None
    for the base alone."""
    outcome = outcome_of(labels)
    validate.same_length(labels=outcome.labelled, rows=rows, base=components[0].p_de)
    percentiles = percentiles_of(components, reference)
    base = (
        fuse(Percentiles(percentiles.de[:1], percentiles.up[:1]), weights_of([], [])).scores()
        if baseline is None
        else baseline
    )
    return LiveFusion(rows, outcome, percentiles, reference, base, cells)
