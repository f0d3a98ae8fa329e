"""What a report shows of the flags of its runs."""

from __future__ import annotations

from collections.abc import Sequence

from perturbdesk_example.flags import count_flags

from core.plots.printed import CaptionedFigure, captioned
from core.runs.workspace import Workspace
from core.scoring.report_part import ReportPart, ShownRuns


def make(workspace: Workspace, shown: ShownRuns) -> Sequence[CaptionedFigure]:
    """Return the flags of each run that the report shows."""
    with workspace.store.read() as db:
        return [captioned(count_flags(db, run.id), run.name) for run in shown.runs]


PART = ReportPart("flags", "Flags", "What is odd about the rows of each run.", 110, make)
