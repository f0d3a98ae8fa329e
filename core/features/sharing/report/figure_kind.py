"""A kind of figure that a report can have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.features.sharing.report.material import Material
from core.plots.captioned import CaptionedFigure


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A kind of figure that a report can have: one module of
    `core.features.sharing.report.figures`.

    name: as in `--figures`. order: of the section in a report. make: the figures of a report's runs
    and comparisons. by_default: whether a report shows it by default.
    """

    name: str
    title: str
    about: str
    order: int
    make: Callable[[Material], Sequence[CaptionedFigure]]
    by_default: bool = True
