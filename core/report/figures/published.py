"""Published numbers, recomputed: ours beside them, with the reason where they differ or cannot be computed."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.experiments.reproduce import VERDICTS, Reproduced, summarize
from core.plots import published_differences
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material

TITLE = "Published numbers, recomputed"
_CAPTION = (
    "{n:,} published numbers · each recomputed from the files of this workspace, with its tolerance; numbers that cannot be "
    "computed here have no dot (see the table)"
)


def as_table(results: Sequence[Reproduced]) -> pd.DataFrame:
    """Return the numbers of `reproduce`, a row each; ours is NaN for one that cannot be computed here."""
    columns = ("name", "published", "ours", "tolerance", "source", "why", "note")
    frame = pd.DataFrame([[getattr(each, column) for column in columns] for each in results], columns=columns)
    verdicts, groups = [VERDICTS[each.agrees] for each in results], [each.title for each in results]
    return frame.astype({"ours": "float64"}).assign(number=frame["name"], verdict=verdicts, group=groups)


def of_numbers(found: Sequence[Reproduced], whose: str) -> CaptionedFigure:
    """Return the numbers of `reproduce`. whose: the dataset's name."""
    if not found:
        return CaptionedFigure(TITLE, whose, "No published number was computed.")
    table, sentence = as_table(found), summarize(found)
    if table["ours"].isna().all():
        reasons = "; ".join(dict.fromkeys(each.why for each in found[:1]))
        return CaptionedFigure(TITLE, whose, f"{sentence} {reasons}.", table=table)
    return CaptionedFigure(TITLE, whose, sentence, _CAPTION.format(n=len(table)), published_differences.figure(table), table)


def _make(material: Material) -> Sequence[CaptionedFigure]:
    return [of_numbers(material.published_numbers(), material.dataset.name)]


FIGURE = FigureKind(
    "published",
    TITLE,
    "Published numbers beside recomputed ones; this takes seconds, or a minute with a sentence encoder.",
    90,
    _make,
    by_default=False,
)
