"""What the report and its slides consist of, in order: finding, abstract, answer, a few figures, and an appendix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from core.report.captioned import CaptionedFigure
from core.report.material import Material
from core.report.question import MOST_FIGURES, find_title
from core.report.selection import ReportSelection

Keyed = tuple[str, CaptionedFigure]  # a figure by the key of its place
Sections = Mapping[str, Sequence[Keyed]]  # kind of figure → its figures


@dataclass(frozen=True, slots=True)
class Byline:
    """Who made a report, "" if nobody says, and on which day."""

    authors: str = ""
    day: date | None = None


NOBODY = Byline()


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """A report of a name. figures: those that come first, in order. appendix: the others, by kind."""

    name: str
    material: Material
    selection: ReportSelection
    byline: Byline
    figures: Sequence[Keyed]
    appendix: Sections

    @property
    def title(self) -> str:
        """The finding."""
        return find_title(self.material, self.selection)

    @property
    def subtitle(self) -> str:
        """Authors, day, dataset, the report's name, and how many runs and rows are shown."""
        n, rows = len(self.material.runs), len(self.material.chosen_rows)
        day = "" if self.byline.day is None else f"{self.byline.day:%-d %B %Y}"
        shown = f"{rows:,} row{'s' * (rows != 1)} in full" if rows else ""
        names = f"{n:,} run{'s' * (n != 1)}: {', '.join(run.name for run in self.material.runs)}"
        authors = self.selection.authors or self.byline.authors
        return " · ".join(filter(None, (authors, day, f"dataset {self.material.dataset.name}", names, shown, self.name)))


def arrange(selection: ReportSelection, sections: Sections) -> tuple[list[Keyed], Sections]:
    """The figures that come first, and the appendix: of the usual kinds six that answer the question come first, of chosen
    kinds all."""
    made = [keyed for figures in sections.values() for keyed in figures]
    if selection.figures:
        return made, {}
    first = [keyed for keyed in made if keyed[1].chart is not None][:MOST_FIGURES]
    keys = {key for key, _ in first}
    rest = {kind: [keyed for keyed in figures if keyed[0] not in keys] for kind, figures in sections.items()}
    return first, {kind: figures for kind, figures in rest.items() if figures}


def caption_of(material: Material, found: CaptionedFigure) -> str:
    """A figure's caption, which names the dataset first."""
    name = material.dataset.name
    return found.caption if found.caption.startswith(f"{name} ·") else f"{name} · {found.caption}"
