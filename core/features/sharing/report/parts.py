"""What the report and its slides consist of, in order: finding, abstract, answer, a few figures,
and an appendix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.base.texts import count_text
from core.features.sharing.report.byline import Byline
from core.features.sharing.report.material import Material
from core.features.sharing.report.question import MOST_FIGURES, find_title
from core.features.sharing.report.selection import ReportSelection
from core.features.sharing.report.walk import Links, ShownStop, figures_of
from core.plots.captioned import CaptionedFigure

Keyed = tuple[str, CaptionedFigure]  # a figure by the key of its place
Sections = Mapping[str, Sequence[Keyed]]  # kind of figure → its figures


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """A report of a name. figures: those that come first, in order. appendix: the others, by kind.
    stops: of the walk-through that is in it, by the keys of their places. links: where these
    lead."""

    name: str
    material: Material
    selection: ReportSelection
    byline: Byline
    figures: Sequence[Keyed]
    appendix: Sections
    stops: Mapping[str, ShownStop]
    links: Links

    @property
    def title(self) -> str:
        """The finding."""
        return find_title(self.material, self.selection)

    @property
    def subtitle(self) -> str:
        """Authors, day, dataset, the report's name, and how many runs and rows are shown."""
        n, rows = len(self.material.runs), len(self.material.chosen_rows)
        shown = f"{count_text(rows, 'row')} in full" if rows else ""
        names = f"{count_text(n, 'run')}: {', '.join(run.name for run in self.material.runs)}"
        made = Byline(self.selection.authors or self.byline.authors, self.byline.day).words
        return " · ".join(
            filter(None, (made, f"dataset {self.material.dataset.name}", names, shown, self.name))
        )

    @property
    def drawn_first(self) -> dict[str, CaptionedFigure]:
        """The figures of stops and those that come first, by the keys of their places."""
        return {
            **figures_of(self.stops),
            **{key: one for key, one in self.figures if one.chart is not None},
        }


def arrange(selection: ReportSelection, sections: Sections) -> tuple[list[Keyed], Sections]:
    """Return the main figures and the appendix.

    Of the usual kinds, six that answer the question are main figures; of chosen kinds, all are.
    """
    made = [keyed for figures in sections.values() for keyed in figures]
    if selection.figures:
        return made, {}
    first = [keyed for keyed in made if keyed[1].chart is not None][:MOST_FIGURES]
    keys = {key for key, _ in first}
    rest = {
        kind: [keyed for keyed in figures if keyed[0] not in keys]
        for kind, figures in sections.items()
    }
    return first, {kind: figures for kind, figures in rest.items() if figures}
