"""The rows of the runs of an experiment, as scored, each read once."""

from __future__ import annotations

from core.base.experiment import Runs
from core.scoring.run_scores import RunRows, add_count_controls, scored_rows
from core.store import datasets, pairs, predictions, runs
from core.store.connection import Cursor
from core.transfer.row_index import RowIndex

_DERIVED = ("fusion", "knn", "recovered")


class ArmLoader:
    """The runs of a dataset; loads the rows of each once."""

    def __init__(self, db: Cursor, dataset: str, *, asked: bool = False) -> None:
        self.db, self.dataset = db, datasets.find(db, dataset)
        self._frame = pairs.frame(db, self.dataset.id, asked=asked)
        self._index = RowIndex.of_frame(self._frame)
        self._known = {each.id: each for each in runs.list_all(db, self.dataset.id)}
        self._rows: dict[str, RunRows] = {}

    def rows_of(self, run: str) -> RunRows:
        """Return the rows of a run, by its id or name, as scored. Raise NotFound."""
        if run not in self._rows:
            found = runs.find_predicting(self.db, run)
            frame = add_count_controls(predictions.frame(self.db, found.id), self._frame)
            self._rows[run] = scored_rows(found, self._known.get, frame, self._index, self.dataset)
        return self._rows[run]

    def pairs(self) -> list[tuple[str, str, bool, str]]:
        """Return every row of the dataset: perturbation, gene, whether it is labelled, and id."""
        labelled = self._frame["label"].notna()
        return list(zip(self._frame["pert"], self._frame["gene"], labelled, self._frame["pair_id"], strict=True))

    def tokens(self, made: Runs) -> int | None:
        """Return the tokens of all runs that ask a model, each counted once; None if some are unknown."""
        every = {run for of_arm in made.values() for run in of_arm.values()}
        found = [self.rows_of(run).run for run in every]
        counts = [run.tokens for run in found if run.method not in _DERIVED]  # which repeat the tokens of their parents
        return None if any(count is None for count in counts) else sum(count or 0 for count in counts)
