"""A figure with all that has to stand beside it, made once for pages, reports and slides; and how kinds of figures are found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd
import plotly.graph_objects as go

if TYPE_CHECKING:
    from core.report.material import Material


@dataclass(frozen=True, slots=True, eq=False)
class CaptionedFigure:
    """One figure, or the sentence that stands in its place.

    title: what it shows. subject: of which run or runs. sentence: what it says. caption: dataset or run, n, and the interval or
    why there is none. chart: None where there is nothing to draw; the sentence then says why. table: its numbers.
    """

    title: str
    subject: str
    sentence: str
    caption: str = ""
    chart: go.Figure | None = None
    table: pd.DataFrame = field(default_factory=pd.DataFrame)


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A kind of figure that a report can have: one module of `core.report.figures`.

    name: as in `--figures`. order: of the section in a report. make: the figures of a report's runs and comparisons.
    by_default: whether a report shows it unless told otherwise.
    """

    name: str
    title: str
    about: str
    order: int
    make: Callable[[Material], Sequence[CaptionedFigure]]
    by_default: bool = True
