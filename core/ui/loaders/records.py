"""Datasets, runs, imports, changes and presets, as the store lists them; rows of a run.

Background jobs in the state that their folders show now.

Texts of all runs of a dataset that contain a phrase.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import pandas as pd

from core.base.types import TRAIN, Call, Label, MarkedPassage, Pair
from core.features import hooks
from core.runs.jobs import control, overview
from core.runs.jobs.control import Job, kinds
from core.store import (
    calls,
    changes,
    datasets,
    evidence,
    imports,
    notes,
    pairs,
    predictions,
    runs,
    spaces,
    text_search,
    traces,
)
from core.store.runs import Run, finished_readings
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
        counts = runs.label_counts(db).set_index("run")
    return cast("dict[str, dict[str, int]]", counts[["labelled", "training"]].to_dict("index"))


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


matching_ids = cache_by("run:{0}", "datasets", "notes", entries=20, shared=True)(
    from_store(predictions.find_pair_ids)
)
list_rows = cache_by("run:{0}", "datasets", "notes", entries=20)(from_store(predictions.list_rows))
filter_choices = cache_by("run:{0}", "datasets")(from_store(predictions.filter_choices))
p_de_values = cache_by("run:{0}", shared=True)(from_store(predictions.p_de_of))
calls_tools = cache_by("run:{0}", entries=50)(from_store(traces.calls_tools))
text_counts = cache_by("run:{0}")(from_store(traces.text_counts))
stages = cache_by("run:{0}")(from_store(traces.stages))
runs_with_row = from_store(predictions.runs_with)
shared_row_counts = cache_by("runs", entries=50)(from_store(predictions.shared_row_counts))
gene_description = from_store(pairs.symbol)
symbol_rows = from_store(predictions.rows_of_symbol)


_AHEAD = ThreadPoolExecutor(max_workers=1, thread_name_prefix="read-ahead")


@dataclass(frozen=True, slots=True)
class RowDetails:
    """Everything that the page Rows shows of one row of a run.

    numbers: `predictions.row`. events: `traces.of_row`. dossier: `evidence.of_row`. calls: requests
    to a language model and its answers. notes: people's remarks. runs: ids of the runs that predict
    the row, this one included. passages: that features
    mark in its texts. readings: ids of the run's finished
    readings, newest first.
    """

    numbers: dict[str, Any]
    events: list[dict[str, Any]]
    dossier: list[dict[str, Any]]
    calls: list[Call]
    notes: pd.DataFrame
    runs: list[str]
    passages: list[MarkedPassage]
    readings: list[str]


@cache_by("run:{0}", "runs", "datasets", "notes", "spaces", entries=50, shared=True)
def row_details(run: str, pair_id: str) -> RowDetails:
    """Return everything that the page Rows shows of one row of a run (id). Raise NotFound if the
    run lacks it."""
    with reading() as db:
        numbers, runs = predictions.row_and_runs(db, run, pair_id)
        return RowDetails(
            numbers,
            traces.of_row(db, run, pair_id),
            evidence.of_row(db, run, pair_id),
            calls.of_row(db, run, pair_id),
            notes.of_row(db, run, pair_id),
            runs,
            [passage for mark in hooks("marks") for passage in mark(db, run, pair_id)],
            finished_readings(db, run),
        )


def read_ahead(runs: Sequence[str], pair_ids: Sequence[str]) -> None:
    """Start reading rows of these runs (ids) that may be opened next.

    If that fails, the row is read again when it is opened, and the page shows the error.
    """
    for pair_id in pair_ids:
        for run in runs:
            _AHEAD.submit(copy_context().run, row_details, run, pair_id)


@cache_by("run:{0}", entries=50)
def says_all_or_nothing(run: str) -> bool:
    """Return whether P(DE) is 0 or 1 in every row of a run."""
    return bool(np.isin(p_de_values(run), (0, 1)).all())


@cache_by("datasets", entries=4, shared=True)
def symbol_facts(dataset: str) -> dict[str, dict[str, Any]]:
    """Return symbol → the columns of `pairs.symbol_facts` for a dataset (id); unknown values are
    absent."""
    with reading() as db:
        frame = pairs.symbol_facts(db, dataset)
    return {
        str(each["symbol"]): {str(key): value for key, value in each.items()}
        for each in frame.to_dict("records")
    }
