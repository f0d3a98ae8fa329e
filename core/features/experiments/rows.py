"""The rows of the runs of an experiment, as they are scored, and their answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.base.experiment import Runs
from core.scoring.run_scores import RunRows, add_count_controls, scored_rows
from core.stats.arrays import Floats
from core.store import datasets, pairs, predictions, runs
from core.store.connection import Cursor
from core.transfer.row_index import RowIndex
from core.types import Flag

Replicate = tuple[int, int]  # the seed of a cut, and that of the calls


_UNREAD_DE = (Flag.DE_FALLBACK, Flag.UNIFORM, Flag.UNCOVERED, Flag.NOT_PREDICTED)
_UNREAD = {"p_de": _UNREAD_DE, "p_up_given_de": (*_UNREAD_DE, Flag.DIR_FALLBACK, Flag.UNCOVERED_DIR)}


class RowLoader:
    """Loads the rows of runs on one dataset, each run once."""

    def __init__(self, db: Cursor, dataset: str) -> None:
        self.db, self.dataset = db, datasets.find(db, dataset)
        self._frame = pairs.frame(db, self.dataset.id)
        self._index = RowIndex.of_frame(self._frame)
        self._runs = {run.id: run for run in runs.list_all(db, self.dataset.id)}
        self._rows: dict[str, RunRows] = {}

    def rows_of(self, run: str) -> RunRows:
        """Return the rows of a run. Raise NotFound."""
        if run not in self._rows:
            there = runs.find_predicting(self.db, run)
            frame = add_count_controls(predictions.frame(self.db, there.id), self._frame)
            self._rows[run] = scored_rows(there, self._runs.get, frame, self._index, self.dataset)
        return self._rows[run]

    def tokens(self, made: Runs) -> int | None:
        """Return the tokens of all runs, each counted once, without those made from other runs; None if some are unknown."""
        every = {run for of_arm in made.values() for run in of_arm.values()}
        there = [self.rows_of(run).run for run in every]
        counts = [run.tokens for run in there if run.method not in ("fusion", "knn")]
        return None if any(count is None for count in counts) else sum(count or 0 for count in counts)


def take_ids(rows: RunRows, ids: Sequence[str]) -> RunRows:
    """Return the rows of these ids, in this order."""
    position = {pair_id: i for i, pair_id in enumerate(rows.frame["pair_id"])}
    return rows.take(np.array([position[pair_id] for pair_id in ids], dtype=np.intp))


def read_answers(rows: RunRows, column: str) -> Floats:
    """Return the answers of a run, NaN for an unreadable one that another number replaces. column: a key of _UNREAD."""
    unread = [any(flag in flags for flag in _UNREAD[column]) for flags in rows.frame["flags"]]
    values = rows.frame[column].to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.array(unread, dtype=np.bool_), np.nan, values)
