"""What all figures share: colours and signs, plotly's template, named lines, error bars, and
texts for names and numbers of rows."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import pandas as pd

from core.base.texts import NO_LABEL, rows_behind

if TYPE_CHECKING:
    import plotly.graph_objects as go


UP: Final = "#D55E00"
DOWN: Final = "#0072B2"
NONE: Final = "#8C8C8C"
EFFECT: Final = "#CC79A7"
NULL: Final = "#5F6B7A"
CHOSEN: Final = "#009E73"
BASELINE: Final = NONE
WARNING: Final = "#E69F00"
# The chosen run's colour, also used for controls; as text it has a contrast of 4.5:1 on each
# surface.
ACCENT: Final = {"light": "#007556", "dark": CHOSEN}

LABEL_COLOURS: Final = {"up": UP, "down": DOWN, "none": NONE, "de": EFFECT, "unknown": NULL}
LABEL_SIGNS: Final = {"up": "▲", "down": "▼", "none": "●", "de": "◆", "unknown": "○"}
LABEL_WORDS: Final = {
    "up": "up",
    "down": "down",
    "none": "none",
    "de": "de",
    "unknown": NO_LABEL,
}
OUTCOME_SIGNS: Final = {"hit": "✓", "miss": "✗"}
ROLE_COLOURS: Final = {"EFFECT": EFFECT, "NULL": NULL, "UP": UP, "DOWN": DOWN, "JUDGE": CHOSEN}

SURFACES: Final = {
    "light": {"paper": "#FFFFFF", "second": "#F5F6F8", "text": "#1F2933", "line": "#DDE1E6"},
    "dark": {"paper": "#14171C", "second": "#1D2229", "text": "#E6EAEF", "line": "#39414C"},
}
FONT: Final = '"Source Sans", sans-serif'
TEXT: Final = 14  # font size in figures
ROW_PX: Final = 26  # one bar, with its gap
HEIGHT_PX: Final = 260  # figures on a page are one or two of these high


# text on a strong colour, on a tint
INK_ON: Final = {True: "#FFFFFF", False: SURFACES["light"]["text"]}

CHANCE: Final = 0.5  # the AUROC of a random score
TEXT_PX: Final = 18  # one line of text above a plot
# the end of an axis of ranks: ticks begin with 1, because there is no rank 0
BEFORE_FIRST: Final = 0.5
SMALL: Final = 12  # font size of names beside lines and curves
METRICS: Final = {"DE": "AUROC of DE", "DIR": "AUROC of DIR", "mean": "mean AUROC of DE and DIR"}
_CHARACTER_PX, _NARROW_PX = 7, 160  # width of a character, and of a narrow plot (half a page)


class PageFigure(ABC):
    """A figure that a page shows as HTML, which a browser draws before it has loaded plotly; in
    files, plotly draws it."""

    @cached_property
    @abstractmethod
    def chart(self) -> go.Figure:
        """The figure as plotly draws it."""

    @abstractmethod
    def html(self) -> str:
        """Return it as HTML, styled in core/ui/style.css."""


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line across a plot, with its name; it is not drawn if `value` is NaN."""

    value: float
    name: str
    colour: str = BASELINE
    dash: Literal["solid", "dot", "dash"] = "dash"


def reference_lines(lines: Mapping[str, float]) -> list[Line]:
    """Return the line of chance and one line for each control in `lines`, named with its value."""
    chance = Line(CHANCE, f"chance {CHANCE}", dash="dot")
    return [
        chance,
        *(Line(at, f"{name} {at:.3f}") for name, at in lines.items() if name != "chance"),
    ]


def escape(text: object, longest: int = 1000) -> str:
    """Return the text, escaped for plotly (no markup, no links) and cut at `longest` characters."""
    words = str(text)
    words = words if len(words) <= longest else words[: longest - 1] + "…"
    return html.escape(words, quote=False)


def rows_text(n: float, metric: str = "") -> str:
    """Return a number of rows as "2,499 rows", with the labels behind a DE, DIR or mean; "rows
    unknown" if it is NaN."""
    if np.isnan(n):
        return "rows not known"
    return (
        rows_behind(metric, int(n))
        if metric.upper() in ("DE", "DIR", "MEAN")
        else "1 row"
        if n == 1
        else f"{n:,.0f} rows"
    )


def transparent(colour: str, opacity: float) -> str:
    """Return a "#RRGGBB" colour with an opacity from 0 to 1."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return f"rgba({red},{green},{blue},{opacity})"


def error_bars(table: pd.DataFrame, value: str, colour: str) -> dict[str, object]:
    """Return Plotly's error bars from `low` to `high` of a table around its column `value`; no bar
    if one of them is NaN."""
    above, below = table["high"] - table[value], table[value] - table["low"]
    return {"array": above, "arrayminus": below, "color": colour, "thickness": 1.5, "width": 3}


def names_above(
    lines: Sequence[Line], span: tuple[float, float], width_px: int = _NARROW_PX
) -> list[list[Line]]:
    """Return the lines of a plot by the level of their names above it, the lowest first, so that no
    name touches another of its level.

    span: the range of the x axis, which is `width_px` wide.
    """
    levels: list[list[Line]] = []
    ends: list[float] = []  # where the last name of each level ends
    scale = _CHARACTER_PX / width_px * (span[1] - span[0])  # of a character, on the axis
    drawn = (line for line in lines if not np.isnan(line.value))
    for line in sorted(drawn, key=attrgetter("value")):
        half = len(line.name) * scale / 2
        level = next((k for k, end in enumerate(ends) if end < line.value - half), len(ends))
        if level == len(levels):
            levels.append([])
            ends.append(0.0)
        levels[level].append(line)
        ends[level] = line.value + half
    return levels


def draw_vertical(figure: go.Figure, lines: Sequence[Line], span: tuple[float, float]) -> int:
    """Draw vertical lines with their names above the plot; return the height of the names in
    pixels. span: the range of the x axis."""
    levels = names_above(lines, span)
    for level, line in ((level, line) for level, on in enumerate(levels) for line in on):
        figure.add_shape(
            type="line",
            x0=line.value,
            x1=line.value,
            yref="paper",
            y0=0,
            y1=1,
            line=_stroke(line),
            layer="between",
        )
        figure.add_annotation(
            x=line.value, yref="paper", y=1, yshift=level * TEXT_PX, yanchor="bottom", **_name(line)
        )
    return len(levels) * TEXT_PX


def draw_horizontal(figure: go.Figure, line: Line) -> int:
    """Draw a horizontal line with its name outside the plot on the right; return the width of the
    name in pixels."""
    figure.add_shape(
        type="line",
        y0=line.value,
        y1=line.value,
        xref="paper",
        x0=0,
        x1=1,
        line=_stroke(line),
        layer="between",
    )
    figure.add_annotation(y=line.value, xref="paper", x=1, xanchor="left", xshift=4, **_name(line))
    return _CHARACTER_PX * len(line.name) + 12


def draw_diagonal(figure: go.Figure, first: float, last: float, **place: int) -> None:
    """Draw the line of equal values."""
    line = {"color": BASELINE, "dash": "dot", "width": 1.5}
    figure.add_shape(
        type="line", x0=first, y0=first, x1=last, y1=last, line=line, layer="between", **place
    )


def _stroke(line: Line) -> dict[str, object]:
    return {"color": line.colour, "dash": line.dash, "width": 2}


def _name(line: Line) -> dict[str, object]:
    return {"text": escape(line.name), "showarrow": False, "font_size": SMALL}


COLUMNS = ("curve", "x", "y")
_SYMBOLS: Final = ("circle", "square", "diamond", "triangle-up", "cross")
_DASHES: Final = ("dash", "dot")
_MAX_POINTS: Final = 60  # a longer curve is a line alone
_FEW_STEPS: Final = 12  # up to this many, each has a tick


def figure(
    table: pd.DataFrame, x_title: str, y_title: str, references: Sequence[str] = ()
) -> go.Figure:
    """Draw a line for each curve in its order, the first in the colour of what is chosen.

    table: COLUMNS, and optionally low and high (a 95% interval) and is_best (a star); rows without
    y are left out. x: numbers, or texts at equal distances. references: curves to draw dashed,
    without points.
    """
    import plotly.graph_objects as go

    chart = go.Figure()
    is_numeric = pd.api.types.is_numeric_dtype(table["x"])
    points = table.reindex(columns=[*COLUMNS, "low", "high", "is_best"]).dropna(subset="y")
    for position, (name, rows) in enumerate(points.groupby("curve", sort=False)):
        is_reference = name in references
        colour = NULL if is_reference else BASELINE if position else CHOSEN
        is_best = rows["is_best"].eq(True)
        chart.add_scatter(
            x=rows["x"] if is_numeric else rows["x"].map(escape),
            y=rows["y"],
            error_y=error_bars(rows, "y", colour),
            name=escape(name, 40),
            mode="lines" if is_reference else "lines+markers",
            line={
                "color": colour,
                "dash": _DASHES[references.index(name) % 2] if is_reference else "solid",
            },
            marker={
                "symbol": np.where(is_best, "star", _SYMBOLS[position % len(_SYMBOLS)]),
                "size": np.where(is_best, 15, 7 if len(rows) <= _MAX_POINTS else 0),
            },
        )
    few = is_numeric and table["x"].max() <= _FEW_STEPS
    chart.update_layout(height=HEIGHT_PX, showlegend=True)
    chart.update_xaxes(title=x_title, zeroline=False, dtick=1 if few else None)
    if not is_numeric:
        chart.update_xaxes(type="category")  # else plotly takes "5" for a number
    chart.update_yaxes(title=y_title, rangemode="tozero", showgrid=True, zeroline=False)
    return chart


def tint(colour: str, strength: float) -> str:
    """Return a "#RRGGBB" colour mixed with white; strength 1 is the colour itself, 0 is white."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - strength * (255 - part)):02X}" for part in parts)


def template(base: str = "light") -> go.layout.Template:
    """Return the plotly template of a surface: grid on the value axis only, no legend, room for
    direct labels."""
    import plotly.graph_objects as go

    colours = SURFACES[base]
    axis = {
        "gridcolor": colours["line"],
        "zerolinecolor": colours["line"],
        "linecolor": colours["line"],
        "automargin": True,
        "ticklabelstandoff": 4,
        "title": {"standoff": 8, "font": {"size": TEXT}},
    }
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": TEXT, "color": colours["text"]},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": [CHOSEN, BASELINE, EFFECT, DOWN, UP, WARNING],
            "xaxis": axis,
            "yaxis": {**axis, "showgrid": False},
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "height": HEIGHT_PX,
            "showlegend": False,
            "hoverlabel": {"font": {"family": FONT}},
            "bargap": 0.3,
        }
    )
