"""The rows of the runs of an experiment, as scored, each read once."""

from __future__ import annotations

from core.scoring.run_scores import RunRows, add_count_controls, scored_rows
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
