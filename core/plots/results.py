"""A result as a part of a report or a page: its figure with the words that stand beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from core.base.feature import resolve
from core.base.result import Result
from core.plots.captioned import CaptionedFigure, together


def captioned(result: Result, subject: str) -> CaptionedFigure:
    """Return a result with the table that its figure draws, or its first one. subject: the run or
    runs that it is about.

    The caption holds scope and caveats.
    """
    figure, [first, *_] = result.figure(), result.tables() or (None,)
    drawn = figure.values.get("table") if figure is not None else None
    return CaptionedFigure(
        title=result.title,
        subject=subject,
        sentence=result.sentence,
        caption=" · ".join(filter(None, (result.scope, *result.caveats))),
        chart=None if figure is None else resolve(figure.draw)(**figure.values),
        table=drawn
        if drawn is not None
        else pd.DataFrame()
        if first is None
        else pd.DataFrame(first.texts()),
    )


def captioned_runs(results: Sequence[tuple[str, Result]], **changes: Any) -> CaptionedFigure:
    """Return the same result of runs, each with its name, in one figure.

    changes: what its function takes where it draws several runs, such as the column of headings.
    """
    figures = [figure for _, result in results if (figure := result.figure()) is not None]

    def draw(table: pd.DataFrame) -> Any:
        return resolve(figures[0].draw)(**{**figures[0].values, **changes, "table": table})

    return together([captioned(result, run) for run, result in results], draw)
