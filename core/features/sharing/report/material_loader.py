"""Reads all that a report is made from, from the store at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from core.features.arguments import rubric_tables, worth
from core.features.experiments import ledger_table
from core.features.sharing.report.material import ChosenRow, Finders, Material
from core.features.sharing.report.selection import ReportSelection
from core.scoring import run_scores
from core.scoring.debate_audit import load_audit
from core.store import Cursor, datasets, evidence, imports, pairs, predictions, runs, traces
from core.store.runs import Run

NOTHING = Finders()


def load_material(db: Cursor, selection: ReportSelection, find: Finders = NOTHING) -> Material:
    """Return the material of a selection, except its explorers, which `load_parts` adds.

    Raise NotFound for runs that were deleted since it was saved.
    """
    chosen = tuple(runs.find(db, key) for key in selection.runs)
    pairs_of_runs = tuple((runs.find(db, a), runs.find(db, b)) for a, b in selection.compare)
    shown = {run.id: run for run in (*chosen, *(run for pair in pairs_of_runs for run in pair))}
    ancestors = tuple(run for run in runs.lineage(db, shown.values()) if run.id not in shown)
    counts = datasets.counts(db)
    rows = {key: run_scores.load_scored_rows(db, key) for key in shown}
    return Material(
        dataset=datasets.find(db, selection.dataset),
        runs=chosen,
        ancestors=ancestors,
        comparisons=pairs_of_runs,
        counts=counts[counts["dataset"] == selection.dataset].reset_index(drop=True),
        dataset_rows=pairs.frame(db, selection.dataset),
        rows=rows,
        audits={run.id: load_audit(db, run.id) for run in chosen},
        chosen_rows={
            pair_id: tuple(_rows_of(db, selection, chosen, pair_id)) for pair_id in selection.rows
        },
        files=imports.behind(db, selection.dataset, [*shown, *(run.id for run in ancestors)]),
        ledger=ledger_table.list_all(db),
        outcomes=worth.load_outcomes(db, rows[chosen[0].id]),
        find=find,
    )


def _rows_of(
    db: Cursor, selection: ReportSelection, chosen: Sequence[Run], pair_id: str
) -> Iterator[ChosenRow]:
    having = set(predictions.runs_with(db, selection.dataset, pair_id))
    for run in chosen:
        if run.id in having:
            yield load_row(db, run, pair_id, predictions.row(db, run.id, pair_id))


def load_row(db: Cursor, run: Run, pair_id: str, numbers: Mapping[str, Any]) -> ChosenRow:
    """Return a row of a run in full. numbers: `predictions.row` of it."""
    events, dossier = traces.of_row(db, run.id, pair_id), evidence.of_row(db, run.id, pair_id)
    return ChosenRow(run, numbers, events, dossier, rubric_tables.passages(db, run.id, pair_id))
