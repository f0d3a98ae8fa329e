"""A figure with all that has to stand beside it, made once for pages, reports and slides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from core.base.feature import resolve
from core.base.result import Result
from core.plots.forest_plot import Forest

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True, slots=True, eq=False)
class CaptionedFigure:
    """One figure, or a sentence instead of it. title: its topic. subject: its run or runs.

    finding: its message as a headline, "" if the sentence is one. sentence: its message, with
    numbers. caption: dataset or run, n, and the interval or why there is none. drawn: None where
    there is nothing to draw; the sentence then says why. table: its numbers.
    """

    title: str
    subject: str
    sentence: str
    caption: str = ""
    drawn: Forest | go.Figure | None = None
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    finding: str = ""

    @property
    def chart(self) -> go.Figure | None:
        """The figure as plotly draws it."""
        return self.drawn.chart if isinstance(self.drawn, Forest) else self.drawn

    @property
    def headline(self) -> str:
        """What the figure says, without the full stop of a sentence."""
        return (self.finding or self.sentence).removesuffix(".")


def together(
    made: Sequence[CaptionedFigure], draw: Callable[[pd.DataFrame], Forest | go.Figure]
) -> CaptionedFigure:
    """Return the figures of several runs, in order, as one; of one run, it alone.

    draw: draws their tables, which have the column `run` then.
    """
    if len(made) == 1:
        return made[0]
    drawn = [one for one in made if one.drawn is not None]
    title, subject = made[0].title, f"{len(made)} runs"
    sentence = " ".join(one.sentence for one in made)
    if not drawn:
        return CaptionedFigure(title, subject, sentence)
    table = pd.concat([one.table.assign(run=one.subject) for one in drawn], ignore_index=True)
    caption = f"{subject} · {_join_captions([one.caption for one in drawn])}"
    return CaptionedFigure(
        title, subject, sentence, caption, draw(table), table, f"{title}, {subject}"
    )


def _join_captions(captions: Sequence[str]) -> str:
    """Return the facts of each caption, then those that all share."""
    facts = [caption.split(" · ") for caption in captions]
    shared = [fact for fact in facts[0] if all(fact in other for other in facts)]
    own_facts = (", ".join(fact for fact in each if fact not in shared) for each in facts)
    return " · ".join(("; ".join(own_facts), *shared))


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
        drawn=None if figure is None else resolve(figure.draw)(**figure.values),
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
