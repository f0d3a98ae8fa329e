"""The rows of the runs of an experiment, each read once, and how far answers move, which needs no
labels: |Δ| of an arm against |Δ| of asking the base again, by a sign-flip test.

Let y be a row's first answer, b_r that of the base when asked again under seed r, and w_r that of
an arm under seed r. For a row, |Δ| of the arm is the mean over seeds of |w_r - y|, and |Δ| of
asking again is the mean of |b_r - y|. If the arm's change does not matter, w_r and b_r can be
exchanged for all seeds of a row together, which flips the sign of the difference of the two. So the
test is exact. It is one-sided, because "moved" means "moved more than asking again".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.base.types import Flag
from core.scoring.run_scores import RunRows, add_count_controls, scored_rows
from core.stats.arrays import Bools, Floats
from core.stats.clustered_mean import means_within
from core.stats.delong import Estimate
from core.stats.permutations import sign_flip_test
from core.store import datasets, pairs, predictions, runs
from core.store.connection import Cursor
from core.transfer.row_index import RowIndex


class ArmLoader:
    """The runs of a dataset; loads the rows of each once. frame: `pairs.frame` of the dataset."""

    def __init__(self, db: Cursor, dataset: str) -> None:
        self.db, self.dataset = db, datasets.find(db, dataset)
        self.frame = pairs.frame(db, self.dataset.id)
        self._index = RowIndex.of_frame(self.frame)
        self._known = {each.id: each for each in runs.list_all(db, self.dataset.id)}
        self._rows: dict[str, RunRows] = {}

    def rows_of(self, run: str) -> RunRows:
        """Return the rows of a run, by its id or name, as scored. Raise NotFound."""
        if run not in self._rows:
            found = runs.find_predicting(self.db, run)
            frame = add_count_controls(predictions.frame(self.db, found.id), self.frame)
            self._rows[run] = scored_rows(found, self._known.get, frame, self._index, self.dataset)
        return self._rows[run]


ANSWERS = {"P(DE)": "p_de", "P(up | DE)": "p_up_given_de"}
_FLIP_SEED = 0
_UNREAD_DE = (Flag.DE_FALLBACK, Flag.UNIFORM, Flag.UNCOVERED, Flag.NOT_PREDICTED)
_UNREAD = {
    "p_de": _UNREAD_DE,
    "p_up_given_de": (*_UNREAD_DE, Flag.DIR_FALLBACK, Flag.UNCOVERED_DIR),
}


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """An arm's mean |Δ| and that of asking again, on the same rows, None without a readable one. p:
    one-sided. read: flags of rows with all answers readable."""

    movement: Estimate | None
    floor: Estimate | None
    p: float
    read: Bools


def moved_more(first: RunRows, again: Sequence[RunRows], arm: Sequence[RunRows]) -> Moved:
    """Return how far an arm moves the answers. first, again: of the base; all on the same rows in
    the same order.

    Only rows with all answers readable count, so the choice of rows does not depend on the side of
    an answer.
    """
    sides = [changes(first, others) for others in (again, arm)]
    unread, undirected = (np.isnan(np.sum(both, axis=0)) for both in zip(*sides, strict=True))
    floor, moved = (
        np.where(unread, np.nan, of_both(de, np.where(undirected, np.nan, up))) for de, up in sides
    )
    read = ~unread
    p = sign_flip_test((moved - floor)[read], first.pert[read], np.random.default_rng(_FLIP_SEED))
    return Moved(mean_change(moved, first), mean_change(floor, first), p, read)


def changes(first: RunRows, others: Sequence[RunRows]) -> tuple[Floats, Floats]:
    """Return the mean over runs of |ΔP(DE)| and of |ΔP(up | DE)| of each row; NaN if an answer was
    unreadable."""
    every = [first, *others]
    de, up = (
        np.stack([read_answers(rows, column) for rows in every]) for column in ANSWERS.values()
    )
    return np.abs(de[1:] - de[0]).mean(axis=0), np.abs(up[1:] - up[0]).mean(axis=0)


def of_both(de: Floats, up: Floats) -> Floats:
    """Return |Δ| of each row: the mean of both, or that of P(DE) if no direction was readable."""
    return np.where(np.isnan(up), de, (de + up) / 2)


def mean_change(values: Floats, rows: RunRows) -> Estimate | None:
    """Return the mean |Δ| over rows; None if it is NaN in all."""
    read = ~np.isnan(values)
    if not read.any():
        return None
    perts, genes = (
        np.unique(codes[read], return_inverse=True)[1] for codes in (rows.pert, rows.gene)
    )
    return means_within(values[read], np.zeros(len(perts), dtype=np.intp), perts, genes)[0]


def take_ids(rows: RunRows, ids: Sequence[str]) -> RunRows:
    """Return the rows of these ids, in this order."""
    position = {pair_id: i for i, pair_id in enumerate(rows.frame["pair_id"])}
    return rows.take(np.array([position[pair_id] for pair_id in ids], dtype=np.intp))


def read_answers(rows: RunRows, column: str) -> Floats:
    """Return the answers of a run, NaN for an unreadable one that another number replaces. column:
    a key of _UNREAD."""
    unread = [any(flag in flags for flag in _UNREAD[column]) for flags in rows.frame["flags"]]
    values = rows.frame[column].to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.array(unread, dtype=np.bool_), np.nan, values)
