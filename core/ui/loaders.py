"""Frames and records from the store, cached by the counters that move when they change.

The caches are bounded; a finished run's rows never change, so paging through a debate reads only what is new on screen.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from core.actions.desk import Desk, open_desk
from core.audit.debate import DebateAudit, audit
from core.report import numbers, verdict
from core.stats.controls import LeakageAudit
from core.stats.score import ScoreIntervals
from core.store import Cursor, datasets, evidence, imports, notes, pairs, predictions, runs, traces, trail, versions
from core.store.datasets import Dataset
from core.store.predictions import Order, RowFilter
from core.store.runs import Run

P = ParamSpec("P")
R = TypeVar("R")
_VERSIONS: ContextVar[dict[str, int]] = ContextVar("versions")


@st.cache_resource(show_spinner=False)
def desk() -> Desk:
    """The workspace that this server shows."""
    return open_desk()


def refresh() -> None:
    """Look at the counters anew; called once at the start of a page's run."""
    with desk().store.read() as db:
        _VERSIONS.set(versions.read(db))


def _version(scopes: list[str]) -> tuple[int, ...]:
    try:
        counters = _VERSIONS.get()
    except LookupError:  # a fragment runs without its page
        refresh()
        counters = _VERSIONS.get()
    return tuple(counters.get(scope, 0) for scope in scopes)


def loaded(query: Callable[Concatenate[Cursor, P], R]) -> Callable[P, R]:
    """Ask the store each time."""

    @wraps(query)
    def load(*args: P.args, **kwargs: P.kwargs) -> R:
        with desk().store.read() as db:
            return query(db, *args, **kwargs)

    return load


def cached(
    *scopes: str, entries: int = 10, shared: bool = False
) -> Callable[[Callable[Concatenate[Cursor, P], R]], Callable[P, R]]:
    """Ask the store once for as long as the counters of `scopes` stand still; "{0}" in a scope is the first argument.

    shared: every caller gets the same object, uncopied, which nobody may change.
    """

    def decorate(query: Callable[Concatenate[Cursor, P], R]) -> Callable[P, R]:
        def remember(arguments: tuple[Any, ...], version: tuple[int, ...]) -> R:
            del version  # part of the key only
            with desk().store.read() as db:
                return query(db, *arguments)  # type: ignore[call-arg]

        remember.__qualname__ = f"{query.__qualname__}.remember"  # the cache tells functions apart by it
        keep = st.cache_resource if shared else st.cache_data
        remembered = keep(max_entries=entries, show_spinner=False)(remember)

        @wraps(query)
        def load(*args: P.args, **kwargs: P.kwargs) -> R:
            assert not kwargs, "cached loaders take positional arguments"
            return remembered(args, _version([scope.format(*args) for scope in scopes]))

        return load

    return decorate


@cached("datasets")
def all_datasets(db: Cursor) -> list[Dataset]:
    """Every dataset, the demo last."""
    return datasets.all_of_them(db)


@cached("datasets")
def default_dataset(db: Cursor) -> Dataset | None:
    """The dataset to show where a link names none."""
    return datasets.default(db)


@cached("datasets")
def dataset_counts(db: Cursor) -> pd.DataFrame:
    """One row a dataset and split, with its counts."""
    return datasets.counts(db)


@cached("runs", "datasets")
def all_runs(db: Cursor) -> list[Run]:
    """The runs of every dataset, oldest first."""
    return runs.all_of_them(db)


@cached("runs", "datasets")
def labelled_counts(db: Cursor) -> pd.DataFrame:
    """Per run how many of its rows have a label."""
    return runs.labelled(db)


@cached("run:{0}", "datasets", "notes", entries=20, shared=True)
def matching(db: Cursor, run: str, wanted: RowFilter, order: Order) -> list[str]:
    """The pair ids that a filter leaves, in order."""
    return predictions.matching(db, run, wanted, order)


@cached("run:{0}", "datasets", "notes", entries=20)
def listing(db: Cursor, run: str, pair_ids: tuple[str, ...]) -> pd.DataFrame:
    """The named rows as a list shows them."""
    return predictions.listing(db, run, pair_ids)


@cached("run:{0}", "datasets")
def choices(db: Cursor, run: str) -> dict[str, list[str]]:
    """What there is to filter by."""
    return predictions.choices(db, run)


@cached("run:{0}", shared=True)
def p_de(db: Cursor, run: str) -> NDArray[np.float64]:
    """P(DE) of every row of a run."""
    return predictions.p_de_of(db, run)


@cached("run:{0}", entries=50)
def flag_counts(db: Cursor, run: str) -> dict[str, int]:
    """How many rows of a run carry each flag."""
    return predictions.flag_counts(db, run)


@cached("run:{0}")
def debate_audit(db: Cursor, run: str) -> tuple[DebateAudit, pd.DataFrame, bool]:
    """A run's audit, the lengths of its briefs, and whether it kept dossiers."""
    result = audit(traces.briefs(db, run), predictions.flag_counts(db, run), predictions.p_de_of(db, run))
    return result, traces.brief_lengths(db, run), evidence.kept(db, run)


@loaded
def row(db: Cursor, run: str, pair_id: str) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """One row's numbers, trace events and dossier."""
    return predictions.row(db, run, pair_id), traces.of_row(db, run, pair_id), evidence.of_row(db, run, pair_id)


@loaded
def runs_with_row(db: Cursor, dataset: str, pair_id: str) -> list[str]:
    """Ids of the runs that predict a row."""
    return predictions.runs_with(db, dataset, pair_id)


@loaded
def row_notes(db: Cursor, run: str, pair_id: str) -> pd.DataFrame:
    """People's remarks on a row."""
    return notes.of_row(db, run, pair_id)


@loaded
def import_list(db: Cursor) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every import, and every rejected row."""
    return imports.listing(db), imports.rejected_rows(db)


@loaded
def latest_changes(db: Cursor) -> pd.DataFrame:
    """The end of the audit trail."""
    return trail.latest(db)


@cached("run:{0}", "datasets", entries=12, shared=True)
def run_rows(db: Cursor, run: str) -> pd.DataFrame:
    """A run's rows in file order, with what row counts give away."""
    dataset = runs.find(db, run).dataset
    return numbers.with_counts(predictions.frame(db, run), pairs.frame(db, dataset))


@cached("run:{0}", "datasets", entries=50)
def scored(db: Cursor, run: str) -> tuple[ScoreIntervals, str]:
    """A run's score with its intervals, and whether its DE beats row counts: yes, no or cannot tell."""
    rows = numbers.with_counts(predictions.frame(db, run), pairs.frame(db, runs.find(db, run).dataset))
    scores = numbers.submitted(rows)
    against = numbers.compared(rows, numbers.controls(rows), scores)
    return numbers.scored(rows, scores), verdict.beats_control(against)


@cached("run:{0}", "datasets", entries=50)
def count_score(db: Cursor, run: str) -> ScoreIntervals:
    """What row counts alone score on a run's labelled rows."""
    rows = numbers.with_counts(predictions.frame(db, run), pairs.frame(db, runs.find(db, run).dataset))
    return numbers.scored(rows, numbers.controls(rows))


@cached("datasets", entries=4, shared=True)
def leakage(db: Cursor, dataset: str) -> LeakageAudit:
    """How far row counts go on a dataset's labelled rows."""
    return numbers.leakage(pairs.frame(db, dataset))


@cached("datasets", entries=4, shared=True)
def pair_rows(db: Cursor, dataset: str) -> pd.DataFrame:
    """Every row of a dataset in file order."""
    return pairs.frame(db, dataset)


@loaded
def symbol(db: Cursor, symbol: str) -> tuple[str, str | None]:
    """How a gene is named, and its description where there is one."""
    return pairs.symbol(db, symbol)


@loaded
def symbol_rows(db: Cursor, dataset: str, role: str, symbol: str) -> pd.DataFrame:
    """Every row of a perturbation or target gene, with what each run says."""
    return predictions.of_symbol(db, dataset, role, symbol)
