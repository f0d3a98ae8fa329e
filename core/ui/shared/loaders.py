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

from core import embeddings
from core.actions import spaces as space_actions
from core.actions import transfer
from core.actions.workspace import Workspace, open_workspace
from core.audit.debate_audit import DebateAudit, audit
from core.errors import NotFound, StateError
from core.scoring import run_scores, sentences
from core.stats.controls import LeakageAudit
from core.stats.official_score import ScoreIntervals
from core.store import (
    Cursor,
    audit_log,
    cache_versions,
    calls,
    datasets,
    evidence,
    imports,
    knowledge,
    notes,
    pairs,
    predictions,
    presets,
    runs,
    spaces,
    traces,
)
from core.store.datasets import Dataset
from core.store.knowledge import PackRecord
from core.store.predictions import Order, RowFilter
from core.store.runs import Run
from core.store.spaces import SpaceRecord
from core.transfer.knn_settings import read_knn_settings
from core.transfer.row_index import RowIndex
from core.transfer.similarity import Space, cosines
from core.types import Call, Label, Pair

P = ParamSpec("P")
R = TypeVar("R")
_VERSIONS: ContextVar[dict[str, int]] = ContextVar("versions")


@st.cache_resource(show_spinner=False)
def workspace() -> Workspace:
    """The workspace that this server shows."""
    return open_workspace()


def refresh() -> None:
    """Look at the counters anew; called once at the start of a page's run."""
    with workspace().store.read() as db:
        _VERSIONS.set(cache_versions.read(db))


def _version(scopes: list[str]) -> tuple[int, ...]:
    try:
        counters = _VERSIONS.get()
    except LookupError:  # a fragment runs without its page
        refresh()
        counters = _VERSIONS.get()
    return tuple(counters.get(scope, 0) for scope in scopes)


def run_version(run: str) -> tuple[int, ...]:
    """What moves when a run or its dataset changes: part of the key where something made from them is kept."""
    return _version([f"run:{run}", "datasets"])


def loaded(query: Callable[Concatenate[Cursor, P], R]) -> Callable[P, R]:
    """Ask the store each time."""

    @wraps(query)
    def load(*args: P.args, **kwargs: P.kwargs) -> R:
        with workspace().store.read() as db:
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
            with workspace().store.read() as db:
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
def row_calls(db: Cursor, run: str, pair_id: str) -> list[Call]:
    """What was asked of a language model for a row, and what it answered."""
    return calls.of_row(db, run, pair_id)


@loaded
def runs_with_row(db: Cursor, dataset: str, pair_id: str) -> list[str]:
    """Ids of the runs that predict a row."""
    return predictions.runs_with(db, dataset, pair_id)


@cached("runs", entries=50)
def sharing(db: Cursor, run: str) -> dict[str, int]:
    """Run id → how many rows it shares with a run."""
    return predictions.sharing(db, run)


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
    return audit_log.latest(db)


@cached("run:{0}", "datasets", entries=12, shared=True)
def run_rows(db: Cursor, run: str) -> pd.DataFrame:
    """A run's rows in file order, with what row counts give away."""
    dataset = runs.find(db, run).dataset
    return run_scores.with_counts(predictions.frame(db, run), pairs.frame(db, dataset))


@cached("run:{0}", "datasets", entries=50)
def scored(db: Cursor, run: str) -> tuple[ScoreIntervals, str]:
    """A run's score with its intervals, and whether its DE beats row counts: yes, no or cannot tell."""
    rows = run_scores.with_counts(predictions.frame(db, run), pairs.frame(db, runs.find(db, run).dataset))
    scores = run_scores.submitted(rows)
    against = run_scores.compared(rows, run_scores.controls(rows), scores)
    return run_scores.scored(rows, scores), sentences.beats_control(against)


@cached("run:{0}", "datasets", entries=50)
def count_score(db: Cursor, run: str) -> ScoreIntervals:
    """What row counts alone score on a run's labelled rows."""
    rows = run_scores.with_counts(predictions.frame(db, run), pairs.frame(db, runs.find(db, run).dataset))
    return run_scores.scored(rows, run_scores.controls(rows))


@cached("datasets", entries=4, shared=True)
def leakage(db: Cursor, dataset: str) -> LeakageAudit:
    """How far row counts go on a dataset's labelled rows."""
    return run_scores.leakage(pairs.frame(db, dataset))


@cached("datasets", entries=4, shared=True)
def pair_rows(db: Cursor, dataset: str) -> pd.DataFrame:
    """Every row of a dataset in file order."""
    return pairs.frame(db, dataset)


def pair(dataset: str, pair_id: str) -> Pair:
    """One row of a dataset that has it."""
    rows = pair_rows(dataset)
    row = rows[rows["pair_id"] == pair_id].iloc[0]
    label = Label(row["label"]) if isinstance(row["label"], str) else None
    return Pair(pair_id, row["pert"], row["gene"], label, row["split"])


@loaded
def symbol(db: Cursor, symbol: str) -> tuple[str, str | None]:
    """How a gene is named, and its description where there is one."""
    return pairs.symbol(db, symbol)


@loaded
def symbol_rows(db: Cursor, dataset: str, role: str, symbol: str) -> pd.DataFrame:
    """Every row of a perturbation or target gene, with what each run says."""
    return predictions.of_symbol(db, dataset, role, symbol)


@cached("spaces")
def all_spaces(db: Cursor) -> list[SpaceRecord]:
    """Every gene space, oldest first."""
    return spaces.all_of_them(db)


@cached("spaces")
def all_packs(db: Cursor) -> list[PackRecord]:
    """Every knowledge pack, oldest first."""
    return knowledge.all_of_them(db)


@cached("presets")
def all_presets(db: Cursor, page: str) -> dict[str, dict[str, Any]]:
    """Named settings of a page."""
    return presets.all_of(db, page)


@cached("spaces", "datasets", entries=100)
def space_coverage(db: Cursor, space: str, dataset: str) -> embeddings.Coverage | None:
    """How much of a dataset (id) a space (id) covers."""
    return space_actions.coverage_in(workspace(), spaces.find(db, space), dataset)


@cached("spaces", "datasets", entries=50)
def space_matches(db: Cursor, space: str, dataset: str) -> tuple[dict[str, int], list[str]]:
    """How many symbols of a dataset (id) each rule found in a space (id), and symbols with several spellings."""
    found = space_actions.matched_in(workspace(), spaces.find(db, space), dataset)
    rules: tuple[embeddings.Rule, ...] = ("exact", "case", "ortholog")
    return {rule: found.count(rule) for rule in rules} | {"not found": int((~found.covered).sum())}, sorted(found.ambiguous)


@cached("datasets", entries=4, shared=True)
def layout(db: Cursor, dataset: str) -> RowIndex:
    """A dataset's rows as codes."""
    return transfer.layout_of(workspace(), datasets.find(db, dataset))


@cached("spaces", "datasets", entries=12, shared=True)
def space_over(db: Cursor, dataset: str, space: str) -> Space:
    """A space (name) over the symbols of a dataset (id)."""
    found = datasets.find(db, dataset)
    return transfer.spaces_over(workspace(), layout(dataset), found, [space])[0]


@cached("spaces", "datasets", entries=3, shared=True)
def kept_cosines(db: Cursor, dataset: str) -> dict[tuple[str, bool], NDArray[np.float64]]:
    """Where the cosines of a dataset's symbols are kept once they have been needed: (space, centred) → matrix."""
    del db, dataset  # part of the key only
    return {}


@cached("spaces", "datasets", entries=8, shared=True)
def flat_map(db: Cursor, dataset: str, space: str) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """Places of a dataset's symbols on a space's first two principal components, and their shares of the variance."""
    del db
    return embeddings.two_axes(space_over(dataset, space).columns)


@cached("run:{0}", "datasets", "spaces", entries=30)
def protocols(db: Cursor, run: str) -> list[tuple[str, str]]:
    """(protocol, sentence) for each kNN on labelled rows that is behind a run: what it scores beside what nothing scores."""
    found: list[tuple[str, str]] = []
    waiting = [run]
    while waiting:
        try:
            this = runs.find(db, waiting.pop())
        except NotFound:  # a parent that was deleted
            continue
        waiting += this.parents
        if this.method == "knn" and (kind := read_knn_settings(this.spec).protocol.kind) != "test":
            found.append((kind, f"{this.name}: {_alone(db, this)}"))
    return found


def _alone(db: Cursor, run: Run) -> str:
    plan = read_knn_settings(run.spec)
    try:
        prepared = transfer.prepare(workspace(), datasets.find(db, run.dataset), plan)
    except (NotFound, StateError) as error:  # a space that was taken away
        return f"cannot be evaluated again: {error}"
    return sentences.knn_sentence(prepared.evaluation(), plan.protocol)


@cached("spaces", "datasets", entries=50)
def most_similar(db: Cursor, dataset: str, space: str, role: str, symbol: str, n: int = 15) -> pd.DataFrame:
    """The perturbations or genes of a dataset (id) that are most similar to one of them: symbol, similarity, label counts."""
    del db
    rows = pair_rows(dataset)
    names = sorted(rows[role].unique())
    place = {name: i for i, name in enumerate(layout(dataset).symbols)}
    codes = np.array([place[name] for name in names])
    similarity = cosines([space_over(dataset, space)]).block(np.array([place[symbol]]), codes)[0]
    near = pd.DataFrame({"symbol": names, "similarity": similarity})
    near = near[(near["similarity"] > 0) & (near["symbol"] != symbol)].nlargest(n, "similarity")
    counts = rows.groupby([role, "label"]).size().unstack(fill_value=0)
    return near.join(counts, on="symbol").fillna(0).astype(dict.fromkeys(counts.columns, int))
