"""The generalisation of a run: its score by the distance of a row's gene, or perturbation, to the training rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from core.scoring.json_shapes import shape_shown
from core.scoring.run_scores import RunRows
from core.scoring.sentences import TWO_WAY, interval_text
from core.stats.delong import Estimate
from core.stats.intervals import why_no_interval
from core.stats.official_score import Metrics
from core.stats.slices import Slice, by_slice, slice_difference
from core.stats.verdicts import side_of
from core.transfer.similarity import Space
from core.transfer.training_distance import (
    OUTSIDE,
    QUARTERS,
    STEPS,
    Axis,
    nearest_cosine,
    slices_by_cosine,
    slices_by_steps,
    steps_to_training,
    training_of,
)

_AGAINST = {"above": "is above", "below": "is below", "open": "cannot be distinguished from", "none": "has no interval against"}
NETWORK = "network"  # as a distance is called on screen and in commands that is not a gene space


@dataclass(frozen=True, slots=True, eq=False)
class DistanceScores:
    """The score of slices of rows by distance, nearest first.

    by: the name of a space, or NETWORK. cosines: of each slice the lowest and highest cosine, None for a network. change: the
    score of the farthest slice less that of the nearest, over their rows; None where there is one slice.
    """

    by: str
    axis: Axis
    slices: tuple[Slice, ...]
    cosines: tuple[tuple[float, float] | None, ...]
    change: Metrics[Estimate] | None
    scored: str


def score_by_space(rows: RunRows, space: Space, axis: Axis) -> DistanceScores:
    """By the cosine with the nearest training symbol, in quarters of the rows.

    Raise InputError for a space that was built from labels: distances in it would know them.
    """
    if space.built_from:
        raise InputError(f"{space.name}: built from the labels of {space.built_from}; expected a space made without labels")
    cosine = nearest_cosine(space.columns, training_of(rows.index, rows.positions, axis, rows.protocols))
    of_row = cosine[_symbols(rows, axis)]
    names = slices_by_cosine(of_row)
    return _score(rows, space.name, axis, (names, (*QUARTERS, OUTSIDE["space"])), of_row)


def score_by_network(rows: RunRows, edges: Iterable[tuple[str, str, float]], axis: Axis) -> DistanceScores:
    """By the steps of a network to the nearest training symbol."""
    steps = steps_to_training(edges, training_of(rows.index, rows.positions, axis, rows.protocols))
    names = slices_by_steps(steps[_symbols(rows, axis)])
    return _score(rows, NETWORK, axis, (names, (*STEPS, OUTSIDE["network"])), None)


def _symbols(rows: RunRows, axis: Axis) -> NDArray[np.intp]:
    return rows.gene if axis == "gene" else rows.pert


def _score(
    rows: RunRows, by: str, axis: Axis, named: tuple[NDArray[np.object_], tuple[str, ...]], cosine: NDArray[np.float64] | None
) -> DistanceScores:
    """named: each row's slice, and all names in order, those whose distance is unknown last."""
    names, order = named
    found = {each.name: each for each in by_slice(rows.labels, rows.scores, names, rows.pert, rows.gene, rows.cells)}
    there = [name for name in order if name in found]
    known = [name for name in there if name != order[-1]]
    change = None if len(known) < 2 else slice_difference(rows.arrays, names == known[0], names == known[-1])
    cosines = [None if cosine is None or name == order[-1] else _range(cosine[names == name]) for name in there]
    return DistanceScores(by, axis, tuple(found[name] for name in there), tuple(cosines), change, rows.scored)


def _range(values: NDArray[np.float64]) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def distance_sentences(found: DistanceScores) -> list[str]:
    """Return the score of each slice, and whether the farthest rows are scored worse than the nearest, one per line."""
    what = "target gene" if found.axis == "gene" else "perturbation"
    measure = "steps in the network" if found.by == NETWORK else f"cosine in {found.by}"
    lines = [f"by the distance of the row's {what} to the nearest other {what} of the training rows, {measure}, {found.scored}:"]
    for part, cosines in zip(found.slices, found.cosines, strict=True):
        reach = "" if cosines is None else f"cosine {cosines[0]:.2f} to {cosines[1]:.2f}"
        scores = "  ".join(f"{name} {interval_text(one.score.shown):22}" for name, one in part.parts.items())
        counts = f"{part.n_labelled:>7,} labelled rows, {part.parts['DIR'].score.n:>7,} of them up or down"
        lines.append(f"{part.name:18} {counts}  {scores} {reach}".rstrip())
    return [*lines, change_sentence(found)]


def change_sentence(found: DistanceScores) -> str:
    """Return a sentence on the difference in mean score between the farthest and the nearest rows."""
    if found.change is None:
        return "All rows have the same distance, so distances cannot be compared."
    known = [f"“{part.name}” ({part.n_labelled:,} rows)" for part in found.slices if part.name not in OUTSIDE.values()]
    shown = found.change.mean.shown
    words = _AGAINST[side_of(shown)]
    if why := why_no_interval(shown):
        words = f"{words} ({why})"
    return f"The mean of {known[-1]} {words} that of {known[0]}: {interval_text(shown, signed=True)}, {TWO_WAY}"


def distance_shape(found: DistanceScores) -> dict[str, Any]:
    """Return `score-distance --json`."""
    changes = None if found.change is None else {name.lower(): shape_shown(one) for name, one in found.change.parts.items()}
    return {
        "by": found.by,
        "axis": found.axis,
        "scored": found.scored,
        "slices": [
            {
                "name": part.name,
                "n": part.n,
                "n_labelled": part.n_labelled,
                "n_dir": part.parts["DIR"].score.n,
                "cosine": None if cosines is None else list(cosines),
                **{name.lower(): shape_shown(one.score) for name, one in part.parts.items()},
            }
            for part, cosines in zip(found.slices, found.cosines, strict=True)
        ],
        "farthest_less_nearest": changes,
    }
