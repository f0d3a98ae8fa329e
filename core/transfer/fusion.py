"""Rank-percentile fusion: fused = Σ w · pct(component), for an effect and for its direction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from core.errors import InputError
from core.stats import validate
from core.stats.arrays import Bools, Floats
from core.stats.ranks import percentiles, percentiles_against
from core.stats.scores_and_labels import Scores, scores_from_probabilities
from core.types import Flag

Reference = Literal["population", "train"]
TOLERANCE = 1e-9  # by which weights may miss a sum of 1


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """One run's scores on the rows of the base run, of shape (n_rows,), NaN where it does not cover a row.

    reference_de, reference_up: its scores on labelled rows (a kNN's own fold priors), of any length; None without.
    """

    name: str
    p_de: Floats
    p_up: Floats
    reference_de: Floats | None = None
    reference_up: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Percentiles:
    """Each component's percentiles, of shape (n_components, n_rows), NaN where it does not cover a row."""

    de: Floats
    up: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """One weight a component (n_components,), or one a component and row (n_components, n_rows), on the simplex."""

    de: Floats
    up: Floats


@dataclass(frozen=True, slots=True, eq=False)
class FusionResult:
    """p_de, p_up: of shape (n_rows,), in (0, 1). uncovered: rows where some component has no score of an effect."""

    p_de: Floats
    p_up: Floats
    uncovered: Bools

    @property
    def prediction_up(self) -> Floats:
        return self.p_de * self.p_up

    @property
    def prediction_down(self) -> Floats:
        return self.p_de * (1 - self.p_up)

    def scores(self) -> Scores:
        """As they are ranked."""
        return scores_from_probabilities(self.p_de, self.p_up)


def component_of(
    name: str, wanted: Sequence[str], pair_ids: Sequence[str], p_de: ArrayLike, p_up: ArrayLike, flags: Sequence[Collection[str]]
) -> Component:
    """A run's rows (all of length n) lined up with the wanted pair ids, NaN where it has none or a fallback stands in."""
    de, up = (np.array(column, dtype=np.float64) for column in (p_de, p_up))
    odd = [frozenset(each) for each in flags]  # asking arrays, as frames hold them, is slow
    de[[Flag.UNCOVERED in each for each in odd]] = np.nan
    up[[not each.isdisjoint((Flag.UNCOVERED, Flag.UNCOVERED_DIR)) for each in odd]] = np.nan
    place = {key: i for i, key in enumerate(pair_ids)}
    at = np.array([place.get(key, -1) for key in wanted], dtype=np.intp)
    there = at >= 0
    if not len(de):  # a run of which no row was predicted
        return Component(name, *np.full((2, len(at)), np.nan))
    return Component(name, *(np.where(there, column[at], np.nan) for column in (de, up)))


def weights_of(others_de: ArrayLike, others_up: ArrayLike) -> Weights:
    """Weights from those of all components but the first, the base, which takes what is left of 1.

    Each of shape (n_others,), or (n_others, n_rows) for weights row by row. InputError for any below 0 or a sum above 1.
    """
    return Weights(_with_base("w_de", others_de), _with_base("w_dir", others_up))


def percentiles_of(components: Sequence[Component], reference: Reference = "population") -> Percentiles:
    """Percentiles over the rows themselves, or against each component's reference run.

    Against a reference, a row's percentile does not depend on which other rows there are; InputError names a component
    that has none.
    """
    if not components:
        raise InputError("components: got none; expected at least the base")
    validate.same_length(**{name: column for c in components for name, column in _named_columns(c)})
    if reference == "population":
        return Percentiles(
            np.stack([percentiles(c.p_de) for c in components]), np.stack([percentiles(c.p_up) for c in components])
        )
    return Percentiles(
        np.stack([_against(c, c.reference_de, c.p_de) for c in components]),
        np.stack([_against(c, c.reference_up, c.p_up) for c in components]),
    )


def fuse(components: Percentiles, weights: Weights) -> FusionResult:
    """The weighted mean of the percentiles, row by row.

    A component that does not cover a row leaves its weight to the others in proportion. Where no component with a weight
    covers the row, the base speaks alone, and 0.5 stands where that does not cover it either.
    """
    uncovered = ~np.logical_and.reduce(~np.isnan(components.de))
    return FusionResult(_weighted(components.de, weights.de), _weighted(components.up, weights.up), uncovered)


def _weighted(values: Floats, weights: Floats) -> Floats:
    """Sums written out over components, so that a row's bits do not depend on how many rows there are."""
    if len(weights) != len(values):
        raise InputError(f"weights: got {len(weights)}; expected one for each of {len(values)} components")
    total, weight = np.zeros((2, values.shape[1]))
    for pct, share in zip(values, weights, strict=True):
        there = ~np.isnan(pct)
        total += np.where(there, share * pct, 0.0)
        weight += share * there
    base = np.where(np.isnan(values[0]), 0.5, values[0])
    return np.divide(total, weight, out=base, where=weight > 0)


def _with_base(name: str, others: ArrayLike) -> Floats:
    array = np.asarray(others, dtype=np.float64)
    base = 1 - array.sum(axis=0)
    if not np.isfinite(array).all() or (array < 0).any() or np.min(base, initial=0.0) < -TOLERANCE:
        raise InputError(f"{name}: got {array.tolist()}; expected weights from 0 that sum to at most 1")
    return np.concatenate((np.maximum(base, 0.0)[None], array))


def _named_columns(component: Component) -> list[tuple[str, Floats]]:
    return [(f"{component.name} p_de", component.p_de), (f"{component.name} p_up", component.p_up)]


def _against(component: Component, reference: Floats | None, values: Floats) -> Floats:
    if reference is None:
        raise InputError(
            f"component {component.name}: has no reference run on labelled rows to take percentiles against; "
            "expected one, or percentiles over the population"
        )
    return percentiles_against(reference, values)
