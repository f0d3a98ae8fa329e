"""The ledger of hypotheses: which survive, and the scores in order, with the noise of one score."""

from __future__ import annotations

from core.features.experiments import ledger_table
from core.features.experiments.comparison_log import looked_by_dataset
from core.features.experiments.ledger_result import ledger_of
from core.plots.captioned import CaptionedFigure, captioned
from core.runs.workspace import Workspace
from core.scoring.report_part import ReportPart, ShownRuns


def _make(workspace: Workspace, _: ShownRuns) -> list[CaptionedFigure]:
    with workspace.store.read() as db:
        entries = ledger_table.list_all(db)
    return [captioned(ledger_of(entries, looked_by_dataset(workspace)), "")]


PART = ReportPart(
    "ledger",
    "The ledger of hypotheses",
    "Which ideas survived, with corrected p, and the scores in order.",
    95,
    _make,
    files=looked_by_dataset,
)
