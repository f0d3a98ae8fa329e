"""The lengths of each role's briefs, and whether the advocates argued."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.audit.brief_checks import BARE, SHORT
from core.audit.debate_audit import DebateAudit
from core.plots import brief_lengths
from core.report.captioned import CaptionedFigure, of_each_run, subject_of
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.store.runs import Run

_TITLE = "Lengths of the briefs"


def of_runs(found: Sequence[tuple[Run, DebateAudit, pd.DataFrame]]) -> CaptionedFigure:
    """Return the lengths of the briefs of runs that have some, a bar for each role of each run.

    found: of each run its audit, and role and length of each brief.
    """
    names = [run.name for run, _, _ in found]
    parts = [brief_lengths.length_classes(lengths, BARE, SHORT) for _, _, lengths in found]
    if len(found) > 1:
        parts = [part.assign(run=name) for part, name in zip(parts, names, strict=True)]
    table, subject = pd.concat(parts, ignore_index=True), subject_of(names)
    counts = of_each_run(names, [f"{audit.totals['n']:,} briefs over {audit.rows:,} rows" for _, audit, _ in found])
    caption = f"{counts} · a letter: up to {BARE} characters · one line: under {SHORT} · counts of all briefs, so no interval"
    said = [audit.summarize() for _, audit, _ in found]
    if len(found) == 1:
        return CaptionedFigure(_TITLE, subject, said[0], caption, brief_lengths.figure(table), table)
    sentence = " ".join(f"{name}: {one}" for name, one in zip(names, said, strict=True))
    finding = f"Lengths of the briefs of {subject}"
    return CaptionedFigure(_TITLE, subject, sentence, caption, brief_lengths.figure(table), table, finding)


def _make(material: Material) -> Sequence[CaptionedFigure]:
    found = [(run, *material.audits[run.id]) for run in material.runs]
    with_briefs = [each for each in found if not each[1].roles.empty]
    without = [run.name for run, audit, _ in found if audit.roles.empty]
    return [
        *([of_runs(with_briefs)] if with_briefs else []),
        *(CaptionedFigure(_TITLE, name, f"{name}: it writes no briefs, so there is no debate to audit.") for name in without),
    ]


FIGURE = FigureKind("brief_lengths", "Did the advocates argue?", "Lengths of the briefs of each role.", 100, _make)
