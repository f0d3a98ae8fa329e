"""A forest plot: names on the left, dots with error bars in the middle, words on the right. Many
figures use it."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from core.base.texts import NO_BIOLOGY, estimate_text, number_text
from core.plots import drawing

if TYPE_CHECKING:
    import plotly.graph_objects as go


NAME_LENGTH = 36  # characters of a name; the hover shows the full name
ENDS = ("estimate", "low", "high")
_DOT, _GAP_PX = 9, 6
_MOST_TICKS: Final = 6
_LEAST_PX: Final = 400  # width of the axis as HTML, for which names of lines have room
_DASHES: Final = {"solid": "solid", "dot": "dotted", "dash": "dashed"}  # plotly's → CSS's


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the plot; every text is shown as it is.

    ends: estimate, low, high. A row without an estimate has no dot, one without an interval a
    hollow dot. words: on the right. hover: the lines of the hover text. is_bold: whether the reader
    should see the row first. colour: by default that of the chosen run for a bold row, that of the
    others otherwise. longest: characters of the name; the hover shows the full name.
    """

    name: str
    ends: tuple[float, float, float]
    words: str
    hover: Sequence[str]
    is_bold: bool = False
    colour: str | None = None
    symbol: str = "circle"
    longest: int = NAME_LENGTH
    is_heading: bool = False

    @property
    def shown_colour(self) -> str:
        """The colour of the dot and the interval."""
        return self.colour or (drawing.CHOSEN if self.is_bold else drawing.BASELINE)

    def markup(self, longest: int | None = None) -> str:
        """Return the name in bold or italics where it is to be, cut at `longest` characters."""
        name = drawing.escape(self.name, longest or len(self.name))
        return f"<b>{name}</b>" if self.is_bold else f"<i>{name}</i>" if self.is_heading else name

    def as_record(self) -> dict[str, object]:
        """Return the row as drawn: name and hover as markup, words, colour, symbol, estimate, low
        and high."""
        return {
            "name": self.markup(self.longest),
            "words": drawing.escape(self.words),
            "hover": "<br>".join(map(drawing.escape, self.hover)),
            "colour": self.shown_colour,
            "symbol": self.symbol,
            **dict(zip(ENDS, self.ends, strict=True)),
        }


def heading(name: str, words: str = "") -> Row:
    """Return a row without a dot that names the rows below it."""
    return Row(name, (math.nan, math.nan, math.nan), words, (), is_heading=True, longest=len(name))


def rows_in_blocks(
    table: pd.DataFrame,
    by: str,
    row: Callable[[Any], Row],
    words: Callable[[pd.DataFrame], str] | None = None,
) -> list[Row]:
    """Return the rows of a table below headings. by: the column of the headings; words: of a
    heading, from its rows."""
    rows: list[Row] = []
    for name, part in table.groupby(by, sort=False):
        title = heading(str(name), words(part) if words is not None else "")
        rows += [title, *map(row, part.itertuples())]
    return rows


def ends_of(row: Any) -> tuple[float, float, float]:
    """Return the estimate of a table's row and its limits."""
    return row.estimate, row.low, row.high


@dataclass(frozen=True)
class Forest(drawing.PageFigure):
    """The rows of a plot from the top, the lines across it with their names, and the title of the
    value axis, which also includes the values of `reach`."""

    rows: Sequence[Row]
    lines: Sequence[drawing.Line]
    title: str
    reach: Sequence[float] = ()

    @cached_property
    def span(self) -> tuple[float, float]:
        """The ends of the value axis."""
        of_rows = chain.from_iterable(map(attrgetter("ends"), self.rows))
        ends = [*of_rows, *map(attrgetter("value"), self.lines), *self.reach]
        low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
        room = 0.04 * (high - low) or 0.05
        return low - room, high + room

    @cached_property
    def chart(self) -> go.Figure:
        return _draw(self)

    def html(self) -> str:
        """Return the plot as HTML, to be styled by `forest` in style.css: a grid of three columns,
        names, fields in which marks stand at shares of the width, and words.

        The names of lines stand above it, the values of the axis below.
        """
        low, high = self.span

        def share(value: float) -> float:
            return 100 * (value - low) / (high - low)

        step = _round_step((high - low) / _MOST_TICKS)
        values = (step * np.arange(math.ceil(low / step), math.floor(high / step) + 1)).tolist()
        behind = "".join(f'<i style="left:{share(value):.3f}%"></i>' for value in values)
        behind += "".join(
            f'<i style="left:{share(line.value):.3f}%;border-left:2px {_DASHES[line.dash]}'
            f' {line.colour}"></i>'
            for line in self.lines
            if not math.isnan(line.value)
        )
        cell = "<span>{}</span>{}<span>{}</span>".format
        cells = []
        for level in reversed(drawing.names_above(self.lines, self.span, _LEAST_PX)):
            names = [(share(line.value), line.name) for line in level]
            cells.append(cell("", _on_axis(names), ""))
        for row in self.rows:
            hover = html.escape("\n".join(row.hover))
            marks = f'<span class="field" title="{hover}">{behind}{_marks(row, share)}</span>'
            cells.append(cell(row.markup(), marks, html.escape(row.words)))
        decimals = max(0, -math.floor(math.log10(step)))
        numbers = [(share(value), f"{round(value, 9) + 0.0:.{decimals}f}") for value in values]
        cells.append(cell("", _on_axis(numbers), ""))
        cells.append(cell("", f'<span class="title">{html.escape(self.title)}</span>', ""))
        return f'<div class="forest">{"".join(cells)}</div>'


def _draw(forest: Forest) -> go.Figure:
    rows = pd.DataFrame([each.as_record() for each in forest.rows])
    rows = rows.assign(y=np.arange(len(rows)))
    import plotly.graph_objects as go

    figure = go.Figure()
    for colour, part in rows[rows["estimate"].notna()].groupby("colour", sort=False):
        hollow = part[["low", "high"]].isna().any(axis=1)
        figure.add_scatter(
            x=part["estimate"],
            y=part["y"],
            mode="markers",
            marker={
                "color": colour,
                "size": _DOT,
                "symbol": part["symbol"].where(~hollow, part["symbol"] + "-open"),
            },
            error_x=drawing.error_bars(part, "estimate", str(colour)),
            hovertext=part["hover"],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    above = drawing.draw_vertical(figure, forest.lines, forest.span)
    height = above + 70 + drawing.ROW_PX * len(rows)
    figure.update_layout(height=height, margin_t=8 + above, minreducedheight=drawing.ROW_PX)
    figure.update_xaxes(title=drawing.escape(forest.title), range=forest.span, zeroline=False)
    figure.update_yaxes(
        range=[len(rows) - 0.5, -0.5], tickvals=rows["y"], ticktext=rows["name"], zeroline=False
    )
    figure.update_yaxes(ticklabelstandoff=_GAP_PX)
    return _draw_words(figure, rows)


def _draw_words(figure: go.Figure, rows: pd.DataFrame) -> go.Figure:
    """Draw the words as ticks of a second axis, so that the margin fits them; an axis without a
    trace is not drawn."""
    figure.add_scatter(x=[None], y=[None], yaxis="y2", hoverinfo="skip")
    figure.update_layout(
        yaxis2={
            "overlaying": "y",
            "side": "right",
            "range": [len(rows) - 0.5, -0.5],
            "tickvals": rows["y"],
            "ticktext": rows["words"],
            "ticklabelstandoff": _GAP_PX,
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        }
    )
    return figure


def _marks(row: Row, share: Callable[[float], float]) -> str:
    """Return the interval of a row as a bar, and its estimate as a dot, hollow without an
    interval."""
    estimate, low, high = row.ends
    if math.isnan(estimate):
        return ""
    has_interval = not math.isnan(low + high)
    left, width = share(low), share(high) - share(low)
    bar = f'<u style="left:{left:.3f}%;width:{width:.3f}%;color:{row.shown_colour}"></u>'
    kind = row.symbol if has_interval else f"{row.symbol} hollow"
    dot = f'<s class="{kind}" style="left:{share(estimate):.3f}%;color:{row.shown_colour}"></s>'
    return (bar if has_interval else "") + dot


def _on_axis(texts: Iterable[tuple[float, str]]) -> str:
    """Return texts in a line, each in the middle of its place in percent of the width."""
    parts = (f'<small style="left:{at:.3f}%">{html.escape(text)}</small>' for at, text in texts)
    return f'<span class="axis">{"".join(parts)}</span>'


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20 … times a power of ten that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= least)


_OPTIONAL: Final[dict[str, Any]] = {"kind": "", "about": "", "cost": np.nan, "n_labelled": np.nan}
_SYMBOLS: Final = {"": "circle", "here": "circle", "public": "diamond", "baseline": "square"}
_WORDS: Final = {
    "": "",
    "here": "measured here",
    "public": "public score",
    "baseline": "without biology",
}


def figure(
    table: pd.DataFrame,
    title: str,
    *,
    by: str = "",
    names: str = "name",
    most: int | None = None,
    overall: float | None = None,
    control: float | None = None,
    has_chance: bool = True,
) -> Forest:
    """Return one row of the forest plot for each score, in the given order, with the line of
    chance.

    Diamonds are public scores, squares baselines without biology. table: name, estimate, low, high,
    n (NaN if unknown; a score without an estimate shows the reason), and optionally kind (here,
    public or baseline), chosen (in bold), about (a line of the hover), cost (of a slice; the
    costliest is in bold) and n_labelled. title: of the value axis, or DE, DIR, mean. by: a column
    of headings; names: of the names. most: how many are drawn. overall, control: the scores of all
    rows and of the no-biology baseline, as lines.
    """
    rows = table.head(most or len(table)).assign(name=table[names])
    for column, default in _OPTIONAL.items():
        if column not in rows:
            rows[column] = default
    if "chosen" not in rows:
        rows = rows.assign(chosen=rows["cost"] == rows["cost"].max())
    shown = (
        rows_in_blocks(rows, by, partial(_row, metric=title))
        if by
        else [_row(row, title) for row in rows.itertuples()]
    )
    lines = (
        drawing.reference_lines({} if control is None else {NO_BIOLOGY: control})
        if has_chance
        else []
    )
    if overall is not None:
        lines.append(drawing.Line(overall, f"all rows {overall:.3f}", drawing.CHOSEN))
    return Forest(shown, lines, drawing.METRICS.get(title, title))


def _row(row: Any, metric: str) -> Row:
    words, rows = (
        estimate_text(*ends_of(row)),
        "" if np.isnan(row.n) else drawing.rows_text(row.n, metric),
    )
    if not np.isnan(row.n_labelled):
        rows = f"{row.n:,.0f} rows, {row.n_labelled:,.0f} with a label"
    if np.isnan(row.estimate):
        words = "one class only" if row.n_labelled else "no labels"
    elif row.low == row.estimate == row.high:
        words = f"{row.estimate:.3f}, all rows tied"
    cost = "" if np.isnan(row.cost) else f"cost for the whole {number_text(row.cost, '+.4f')}"
    hover = [
        *filter(None, (str(row.name), row.about, f"{_WORDS[row.kind]} {words}".strip(), rows, cost))
    ]
    if row.kind == "public":
        words = f"{words} public"
    colour = drawing.WARNING if row.kind == "baseline" else None
    return Row(
        str(row.name), ends_of(row), words, hover, bool(row.chosen), colour, _SYMBOLS[row.kind]
    )
