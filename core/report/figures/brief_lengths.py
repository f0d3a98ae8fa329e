"""The lengths of each role's briefs, and whether the advocates argued."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.audit.brief_checks import BARE, SHORT
from core.audit.debate_audit import DebateAudit
from core.plots import brief_lengths
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.store.runs import Run

_TITLE = "Lengths of the briefs"


def of_run(run: Run, audit: DebateAudit, lengths: pd.DataFrame) -> CaptionedFigure:
    """The lengths of a run's briefs. audit: of the run; lengths: role and length of each brief."""
    if audit.roles.empty:
        return CaptionedFigure(_TITLE, run.name, f"{run.name}: its traces hold no briefs, so there is no debate to audit.")
    table = brief_lengths.length_classes(lengths, BARE, SHORT)
    caption = (
        f"{run.name} · {audit.totals['n']:,} briefs over {audit.rows:,} rows · a letter: up to {BARE} characters · "
        f"one line: under {SHORT} · counts of all briefs, so no interval"
    )
    return CaptionedFigure(_TITLE, run.name, audit.summarize(), caption, brief_lengths.figure(table), table)


def _make(material: Material) -> Sequence[CaptionedFigure]:
    return [of_run(run, *material.audits[run.id]) for run in material.runs]


FIGURE = FigureKind("brief_lengths", "Did the advocates argue?", "How long the briefs of each role are.", 100, _make)
