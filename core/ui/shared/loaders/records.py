"""Datasets, runs, imports, changes and presets, as the store lists them.

Background jobs in the state that their folders show now.

Texts of all runs of a dataset that contain a phrase.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from core.actions import job_control, jobs
from core.actions.comparison_log import looked_by_dataset
from core.actions.job_kinds.base import Job, kinds
from core.experiments.ledger import LedgerLine
from core.experiments.ledger import ledger_lines as _ledger_lines
from core.store import calls, changes, datasets, hypotheses, imports, notes, pairs, runs, text_search, walks
from core.store.datasets import Dataset
from core.store.hypotheses import Entry
from core.store.runs import Run
from core.store.text_search import Found, TextQuery
from core.store.walks import Stop
from core.types import TRAIN, Label, Pair
from core.ui.shared import server_workspace
from core.ui.shared.loaders.cache import cache_by, reading, run_version
from core.ui.shared.server_workspace import read_workspace


@cache_by("datasets")
def all_datasets() -> list[Dataset]:
    """Return every dataset, the demo last."""
    with reading() as db:
        return datasets.list_all(db)


@cache_by("datasets")
def default_dataset() -> Dataset | None:
    """Return the dataset to show if a link names none."""
    with reading() as db:
        return datasets.default(db)


@cache_by("datasets")
def dataset_counts() -> pd.DataFrame:
    """Return one row per dataset and split, with its counts."""
    with reading() as db:
        return datasets.counts(db)


@cache_by("datasets", entries=4, shared=True)
def dataset_rows(dataset: str) -> pd.DataFrame:
    """Return every row of a dataset (id) in file order."""
    with reading() as db:
        return pairs.frame(db, dataset)


def dataset_row(dataset: str, pair_id: str) -> Pair:
    """Return one row of a dataset."""
    rows = dataset_rows(dataset)
    row = rows[rows["pair_id"] == pair_id].iloc[0]
    label = Label(row["label"]) if isinstance(row["label"], str) else None
    return Pair(pair_id, row["pert"], row["gene"], label, row["split"])


def is_training_row(pair: Pair) -> bool:
    """Return whether predictions may learn from this row's label."""
    return pair.label is not None and pair.split == TRAIN


@cache_by("runs", "datasets")
def _recorded_runs() -> list[Run]:
    with reading() as db:
        return runs.list_all(db)


def all_runs() -> list[Run]:
    """Return the runs of every dataset, oldest first, each in the state that its folder shows; the store may lag behind."""
    return jobs.with_present_states(read_workspace(), _recorded_runs())


def predicting_runs() -> list[Run]:
    """Return all runs except readings: the runs that pages score, compare and offer."""
    return [run for run in all_runs() if not run.is_reading]


def settle_runs() -> None:
    """Record runs whose worker has died in the store, in the background."""
    server_workspace.settle_runs(_recorded_runs())


@cache_by("runs", "datasets")
def labelled_counts() -> pd.DataFrame:
    """Return run id → the number of its labelled rows, and of those that are training rows."""
    with reading() as db:
        return runs.label_counts(db)


@cache_by("runs")
def tokens_by_run() -> dict[str, tuple[int, int]]:
    """Return run id → tokens of prompts and answers that were paid for, for runs with recorded calls."""
    with reading() as db:
        return calls.tokens_by_run(db)


@cache_by("ledger")
def ledger_entries() -> list[Entry]:
    """Return every entry of the ledger of hypotheses, in the order in which they were written."""
    with reading() as db:
        return hypotheses.list_all(db)


def ledger_lines() -> list[LedgerLine]:
    """Return the lines of the ledger. The list of tested hypotheses, by which p-values are corrected, is read each time."""
    return _ledger_lines(ledger_entries(), looked_by_dataset(read_workspace()))


def all_imports() -> pd.DataFrame:
    """Return every import of a file."""
    with reading() as db:
        return imports.list_imports(db)


def rejected_rows() -> pd.DataFrame:
    """Return every row that an import could not read, with file, line and reason."""
    with reading() as db:
        return imports.rejected_rows(db)


def latest_changes() -> pd.DataFrame:
    """Return the latest entries of the audit log."""
    with reading() as db:
        return changes.latest(db)


@cache_by("notes", "runs")
def dataset_notes(dataset: str) -> pd.DataFrame:
    """Return all notes on the runs of a dataset (id), newest first."""
    with reading() as db:
        return notes.of_dataset(db, dataset)


@cache_by("walks", entries=1)
def all_walks() -> list[tuple[str, str, int]]:
    """Return dataset (id), name and number of stops of every walk-through."""
    with reading() as db:
        return walks.list_all(db)


@cache_by("walks")
def walk_stops(dataset: str, walk: str) -> list[Stop]:
    """Return the stops of a walk-through, in order."""
    with reading() as db:
        return walks.of_walk(db, dataset, walk)


@cache_by("presets")
def all_presets(page: str) -> dict[str, dict[str, Any]]:
    """Return the named settings of a page."""
    with reading() as db:
        return notes.presets_of_page(db, page)


def other_jobs() -> list[Job]:
    """Return every job except predicting runs, which pages load as runs."""
    return job_control.list_jobs(read_workspace(), [name for name in kinds() if name != "run"])


def search_texts(dataset: str, wanted: TextQuery) -> Found:
    """Return the texts of all runs of a dataset (id) that contain a phrase."""
    versions = tuple(run_version(run.id) for run in all_runs() if run.dataset == dataset)
    return _search_texts(dataset, wanted, versions)


@cache_by("runs", "datasets", entries=20, shared=True)
def _search_texts(dataset: str, wanted: TextQuery, versions: tuple[tuple[int, ...], ...]) -> Found:
    del versions  # part of the key only
    with reading() as db:
        return text_search.search(db, dataset, wanted)
