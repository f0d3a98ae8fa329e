"""The lengths of each role's briefs, and whether the advocates argued."""

from __future__ import annotations

from collections.abc import Sequence

from core.plots.printed import CaptionedFigure, captioned
from core.runs.workspace import Workspace
from core.scoring.debate_audit import load_audit
from core.scoring.report_part import ReportPart, ShownRuns

_TITLE = "Lengths of the briefs"


def _make(workspace: Workspace, shown: ShownRuns) -> Sequence[CaptionedFigure]:
    with workspace.store.read() as db:
        audits = [load_audit(db, run.id) for run in shown.runs]
    without = (
        f"{audit.run}: it writes no briefs, so there is no debate to audit."
        for audit in audits
        if not audit.roles
    )
    return [
        *(captioned(audit, audit.run) for audit in audits if audit.roles),
        *(CaptionedFigure(_TITLE, sentence.partition(":")[0], sentence) for sentence in without),
    ]


PART = ReportPart(
    "brief_lengths", "Did the advocates argue?", "Lengths of the briefs of each role.", 100, _make
)
