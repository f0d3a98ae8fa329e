"""The distance of a row's gene (or perturbation) to the training rows: in a gene space, or in steps of a network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from core.stats.arrays import Codes, Floats
from core.stats.ranks import equal_groups
from core.transfer.protocols import EvaluationProtocol, parts_of
from core.transfer.row_index import RowIndex
from core.transfer.run_cells import folds_among
from core.transfer.similarity import unit_vectors

Axis = Literal["gene", "pert"]
QUARTERS = ("nearest quarter", "second quarter", "third quarter", "farthest quarter")
STEPS = ("1 step", "2 steps", "3 steps or more")
OUTSIDE = {"space": "not in the space", "network": "not in the network"}
_BLOCK = 1024  # symbols at a time: the cosines of ten thousand would take almost a gigabyte


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """The symbols that a run could learn from, on one axis. known: symbols of the training rows, as codes of `index`. part: the
    part of every symbol of the dataset: a symbol sees only symbols of other parts. Parts are those of the cut under folds;
    otherwise each symbol is a part of its own.
    """

    index: RowIndex
    known: Codes
    part: Codes


def training_of(index: RowIndex, positions: Codes, axis: Axis, protocols: Sequence[EvaluationProtocol]) -> Training:
    """Return the symbols that the rows at these positions of the index could learn from.

    protocols: of the run of these rows; the first one with folds counts.
    """
    known, n = np.unique(getattr(index.known.rows, axis)), len(index.symbols)
    folds = next(iter(folds_among(protocols)), None)
    if folds is None:
        return Training(index, known, np.arange(n))
    parts = parts_of(folds, index.rows.take(positions), index.known.rows)
    assert parts is not None
    of_axis: Codes = getattr(parts, axis)
    return Training(index, known, np.concatenate((of_axis, np.full(n - len(of_axis), -1))))


def nearest_cosine(columns: Floats, training: Training) -> Floats:
    """Return each symbol's cosine to the nearest training symbol of another part, of shape (n_symbols,); NaN if not covered.

    columns: of shape (n_symbols, n_columns), see `similarity.Space`.
    """
    known, part = training.known, training.part
    units = unit_vectors(columns)
    known = known[units.row[known] >= 0]
    found = np.full(len(part), np.nan)
    covered = np.flatnonzero(units.row >= 0)
    if not len(known):
        return found
    for start in range(0, len(covered), _BLOCK):
        some = covered[start : start + _BLOCK]
        cosines = units.vectors[units.row[some]] @ units.vectors[units.row[known]].T
        cosines[part[some][:, None] == part[known]] = -np.inf
        best = cosines.max(axis=1)
        found[some] = np.where(np.isfinite(best), best, np.nan)
    return found


def steps_to_training(edges: Iterable[tuple[str, str, float]], training: Training) -> Codes:
    """Return each symbol's steps to the nearest training symbol of another part, of shape (n_symbols,): 1, 2, or 3 for three or
    more.

    0 for a symbol without an edge. edges: pairs of symbols in upper or lower case; their scores are ignored.
    """
    at, links = _network(edges)
    known, part = training.known, training.part
    place = np.array([at.get(symbol.casefold(), -1) for symbol in training.index.symbols], dtype=np.intp)
    found = np.where(place >= 0, 3, 0)
    for one in np.unique(part):
        mine = np.flatnonzero((part == one) & (place >= 0))
        others = known[(part[known] != one) & (place[known] >= 0)]
        marked = np.zeros(len(at))
        marked[place[others]] = 1.0
        first = links @ marked > 0
        second = links @ (first | (marked > 0)).astype(np.float64) > 0
        found[mine] = np.where(first[place[mine]], 1, np.where(second[place[mine]], 2, 3))
    return found


def slices_by_cosine(cosine: Floats) -> NDArray[np.object_]:
    """Return each row's quarter by cosine, nearest first; cosine: of shape (n_rows,), NaN if not covered."""
    quarter = equal_groups(-cosine, len(QUARTERS))
    names = np.array([OUTSIDE["space"], *QUARTERS], dtype=object)
    found: NDArray[np.object_] = names[np.where(np.isnan(quarter), 0, np.nan_to_num(quarter)).astype(int)]
    return found


def slices_by_steps(steps: Codes) -> NDArray[np.object_]:
    """Return each row's number of steps as text; steps: of shape (n_rows,)."""
    return np.array([OUTSIDE["network"], *STEPS], dtype=object)[steps]


def _network(edges: Iterable[tuple[str, str, float]]) -> tuple[dict[str, int], csr_array]:
    """Return the position of each symbol, and the symmetric matrix of links between different symbols."""
    at: dict[str, int] = {}
    ends = [[at.setdefault(end.casefold(), len(at)) for end in (a, b)] for a, b, _ in edges if a.casefold() != b.casefold()]
    pairs = np.array(ends, dtype=np.intp).reshape(-1, 2)
    rows, columns = np.concatenate((pairs, pairs[:, ::-1])).T
    return at, csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(at), len(at)))
