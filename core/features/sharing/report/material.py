"""All that a report is made from, read from the store at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pandas as pd

from core.base.feature import HandTool
from core.features.sharing.report.selection import ReportSelection
from core.scoring import run_scores
from core.scoring.debate_audit import DebateAudit, load_audit
from core.scoring.kept_scores import find_kept
from core.scoring.report_part import ShownRuns
from core.store import Cursor, datasets, evidence, imports, pairs, predictions, runs, traces
from core.store.datasets import Dataset
from core.store.imports import Import
from core.store.runs import Run


@dataclass(frozen=True, slots=True)
class ChosenRow:
    """One row of one run in full: `predictions.row`, `traces.of_row` and
    `evidence.of_row`."""

    run: Run
    numbers: Mapping[str, Any]
    events: Sequence[dict[str, Any]]
    dossier: Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Material(ShownRuns):
    """What a report shows.

    ancestors: what its runs were made from. audits: by run. chosen_rows: by id, each in the chosen
    runs that have it. files: what was imported. outcomes: hit or miss of each row of the first run,
    None without a label or a call. tools: what is moved by hand in the file, by run.
    """

    ancestors: tuple[Run, ...]
    audits: Mapping[str, DebateAudit]
    chosen_rows: Mapping[str, Sequence[ChosenRow]]
    files: Sequence[Import]
    outcomes: pd.Series
    tools: Mapping[str, HandTool] = field(default_factory=dict)


def load_material(db: Cursor, selection: ReportSelection) -> Material:
    """Return the material of a selection, except its tools, which `load_parts` adds.

    Raise NotFound for runs that were deleted since it was saved.
    """
    chosen = tuple(runs.find(db, key) for key in selection.runs)
    pairs_of_runs = tuple((runs.find(db, a), runs.find(db, b)) for a, b in selection.compare)
    shown = {run.id: run for run in (*chosen, *(run for pair in pairs_of_runs for run in pair))}
    ancestors = tuple(run for run in runs.lineage(db, shown.values()) if run.id not in shown)
    counts = datasets.counts(db)
    rows = {key: run_scores.load_scored_rows(db, key) for key in shown}
    first = rows[chosen[0].id].frame["pair_id"].tolist()
    chosen_rows: dict[str, tuple[ChosenRow, ...]] = {}
    for pair_id in selection.rows:
        having = set(predictions.runs_with(db, selection.dataset, pair_id))
        chosen_rows[pair_id] = tuple(
            load_row(db, run, pair_id, predictions.row(db, run.id, pair_id))
            for run in chosen
            if run.id in having
        )
    return Material(
        dataset=datasets.find(db, selection.dataset),
        runs=chosen,
        ancestors=ancestors,
        comparisons=pairs_of_runs,
        counts=counts[counts["dataset"] == selection.dataset].reset_index(drop=True),
        dataset_rows=pairs.frame(db, selection.dataset),
        rows=rows,
        kept=find_kept(db, selection.dataset),
        audits={run.id: load_audit(db, run.id) for run in chosen},
        chosen_rows=chosen_rows,
        files=imports.behind(db, selection.dataset, [*shown, *(run.id for run in ancestors)]),
        outcomes=predictions.list_rows(db, chosen[0].id, first)["outcome"],
    )


def load_row(db: Cursor, run: Run, pair_id: str, numbers: Mapping[str, Any]) -> ChosenRow:
    """Return a row of a run in full. numbers: `predictions.row` of it."""
    events, dossier = traces.of_row(db, run.id, pair_id), evidence.of_row(db, run.id, pair_id)
    return ChosenRow(run, numbers, events, dossier)


@dataclass(frozen=True, slots=True)
class Byline:
    """The author, "" if unknown, and the date."""

    authors: str = ""
    day: date | None = None

    @property
    def words(self) -> str:
        """Authors and day, if known."""
        return " · ".join(
            filter(None, (self.authors, "" if self.day is None else f"{self.day:%-d %B %Y}"))
        )


NOBODY = Byline()


def run_facts(run: Run, clean: Callable[[str], str] = str) -> dict[str, str]:
    """Return what is known of how a run was made, by title. clean: removes what means something on
    this machine alone."""
    facts = {
        "Run": f"{run.name} (id {run.id})",
        "Method": f"{run.method}{f', track {run.track}' if run.track else ''}, {run.origin}",
        "Model": run.model or "",
        "Seed": str(run.spec.get("seed", "")),
        "Rows": f"{run.done:,} of {run.total:,} predicted, {run.failed:,} failed",
        "Status": f"{run.status}{f': {clean(run.cause)}' if run.cause else ''}",
        "File": clean(str(run.spec.get("file", ""))),
        "PerturbDesk": run.code_version,
    }
    return {title: words for title, words in facts.items() if words}


def dataset_text(dataset: Dataset) -> str:
    """Return a dataset in words: its name, what it was measured in, and whether it is simulated."""
    simulated = "simulated" if dataset.origin == "simulated" else ""
    return ", ".join(filter(None, (dataset.name, dataset.organism, dataset.context, simulated)))
