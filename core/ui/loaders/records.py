"""Datasets, runs, imports, changes and presets, as the store lists them.

Background jobs in the state that their folders show now.

Texts of all runs of a dataset that contain a phrase.
"""

from __future__ import annotations

from typing import Literal

from core.base.types import TRAIN, Label, Pair
from core.runs.jobs import control, overview
from core.runs.jobs.control import Job, kinds
from core.store import calls, changes, datasets, imports, notes, pairs, runs, spaces, text_search
from core.store.runs import Run
from core.store.text_search import Found, TextQuery
from core.ui import server_workspace
from core.ui.loaders.cache import cache_by, from_store, reading, run_version
from core.ui.server_workspace import read_workspace

all_datasets = cache_by("datasets")(from_store(datasets.list_all))
default_dataset = cache_by("datasets", "runs")(from_store(datasets.default))
dataset_counts = cache_by("datasets")(from_store(datasets.counts))
dataset_rows = cache_by("datasets", entries=4, shared=True)(from_store(pairs.frame))
_recorded_runs = cache_by("runs", "datasets")(from_store(runs.list_all))
tokens_by_run = cache_by("runs")(from_store(calls.tokens_by_run))
all_imports = from_store(imports.list_imports)
rejected_rows = from_store(imports.rejected_rows)
latest_changes = from_store(changes.latest)
dataset_notes = cache_by("notes", "runs")(from_store(notes.of_dataset))
all_presets = cache_by("presets")(from_store(notes.presets_of_page))


def dataset_row(dataset: str, pair_id: str) -> Pair:
    """Return one row of a dataset."""
    rows = dataset_rows(dataset)
    row = rows[rows["pair_id"] == pair_id].iloc[0]
    label = Label(row["label"]) if isinstance(row["label"], str) else None
    return Pair(pair_id, row["pert"], row["gene"], label, row["split"])


def is_training_row(pair: Pair) -> bool:
    """Return whether predictions may learn from this row's label."""
    return pair.label is not None and pair.split == TRAIN


def all_runs() -> list[Run]:
    """Return the runs of every dataset, oldest first, each in the state that its folder shows; the
    store may lag behind."""
    return overview.with_present_states(read_workspace(), _recorded_runs())


@cache_by("runs", "datasets", shared=True)
def _label_counts() -> dict[str, dict[str, int]]:
    """Return `runs.label_counts` by run: a page asks for many."""
    with reading() as db:
        counts = runs.label_counts(db)
    columns = (counts[name].tolist() for name in ("run", "labelled", "training"))
    return {run: {"labelled": n, "training": of} for run, n, of in zip(*columns, strict=True)}


def count_labelled(run: str, of: Literal["labelled", "training"] = "labelled") -> int:
    """Return how many rows of a run (id) have a label, or how many of these are in the training
    split."""
    return int(_label_counts().get(run, {}).get(of, 0))


def predicting_runs() -> list[Run]:
    """Return all runs except readings: the runs that pages score, compare and offer."""
    return [run for run in all_runs() if not run.is_reading]


def settle_runs() -> None:
    """Record runs whose worker has died in the store, in the background."""
    server_workspace.settle_runs(_recorded_runs())


def other_jobs() -> list[Job]:
    """Return every job except predicting runs, which pages load as runs."""
    return control.list_jobs(read_workspace(), [name for name in kinds() if name != "run"])


def search_texts(dataset: str, wanted: TextQuery) -> Found:
    """Return the texts of all runs of a dataset (id) that contain a phrase."""
    versions = tuple(run_version(run.id) for run in all_runs() if run.dataset == dataset)
    return _search_texts(dataset, wanted, versions)


@cache_by("runs", "datasets", entries=20, shared=True)
def _search_texts(dataset: str, wanted: TextQuery, versions: tuple[tuple[int, ...], ...]) -> Found:
    del versions  # part of the key only
    with reading() as db:
        return text_search.search(db, dataset, wanted)


all_spaces = cache_by("spaces")(from_store(spaces.list_all))
