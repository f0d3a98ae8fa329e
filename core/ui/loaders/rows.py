"""The rows of a run: filters, lists, and everything that the page Rows shows of a row."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from core.base.types import Call, MarkedPassage
from core.features import hooks
from core.store import calls, evidence, notes, pairs, predictions, traces
from core.store.runs import finished_readings
from core.ui.loaders.cache import cache_by, from_store, reading

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
