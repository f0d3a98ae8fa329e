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
    """Return the lengths of a run's briefs. audit: of the run; lengths: role and length of each brief."""
    if audit.roles.empty:
        return CaptionedFigure(_TITLE, run.name, f"{run.name}: it writes no briefs, so there is no debate to audit.")
    table = brief_lengths.length_classes(lengths, BARE, SHORT)
    caption = (
        f"{run.name} · {audit.totals['n']:,} briefs over {audit.rows:,} rows · a letter: up to {BARE} characters · "
        f"one line: under {SHORT} · counts of all briefs, so no interval"
    )
    return CaptionedFigure(_TITLE, run.name, audit.summarize(), caption, brief_lengths.figure(table), table)


def of_runs(found: Sequence[tuple[Run, DebateAudit, pd.DataFrame]]) -> CaptionedFigure:
    """Return the same of two or more runs that have briefs, a bar for each role of each run."""
    parts = [brief_lengths.length_classes(lengths, BARE, SHORT).assign(run=run.name) for run, _, lengths in found]
    table, subject = pd.concat(parts, ignore_index=True), f"{len(found)} runs"
    counts = ", ".join(f"{run.name} {audit.totals['n']:,} briefs over {audit.rows:,} rows" for run, audit, _ in found)
    caption = (
        f"{subject} · {counts} · a letter: up to {BARE} characters · one line: under {SHORT} · "
        "counts of all briefs, so no interval"
    )
    sentence = " ".join(f"{run.name}: {audit.summarize()}" for run, audit, _ in found)
    finding = f"Lengths of the briefs of {subject}"
    return CaptionedFigure(_TITLE, subject, sentence, caption, brief_lengths.figure(table), table, finding)


def _make(material: Material) -> Sequence[CaptionedFigure]:
    found = [(run, *material.audits[run.id]) for run in material.runs]
    with_briefs = [each for each in found if not each[1].roles.empty]
    if len(with_briefs) < 2:
        return [of_run(*each) for each in found]
    return [of_runs(with_briefs), *(of_run(*each) for each in found if each[1].roles.empty)]


FIGURE = FigureKind("brief_lengths", "Did the advocates argue?", "Lengths of the briefs of each role.", 100, _make)
