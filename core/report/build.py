"""A report as bytes, made from the store and a selection alone: the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from core.experiments.ledger import LookedAt
from core.explorer.component import ExplorerData
from core.report.byline import NOBODY
from core.report.captioned import CaptionedFigure
from core.report.document import render
from core.report.figures.registry import KINDS
from core.report.material import FindAnswers, FindExplorer, FindExpression, FindVectors, Material, Reproduce
from core.report.material_loader import answers_nothing, knows_no_cells, load_material
from core.report.page import make_page
from core.report.parts import Parts, Sections, arrange, caption_of
from core.report.question import kinds_in_order
from core.report.selection import ReportSelection
from core.report.slides import make_slides
from core.report.walk import HOME, Links, load_stops
from core.store import Store, walks
from core.store.runs import Run


@dataclass(frozen=True, slots=True)
class BuiltReport:
    """A file's bytes, and how many figures and rows are in it."""

    content: bytes
    figures: int
    rows: int


@dataclass(frozen=True, slots=True)
class Finders:
    """Further inputs of a report besides the store.

    vectors, answers: as in `Material`. reproduce: computes the published numbers again; without published numbers among its
    figures a report needs none. explorer: None leaves explorers out. expression: statistics of genes in the control cells of a
    dataset (id); None if it was not made from cells. looked: comparisons of runs made, by dataset.
    """

    vectors: FindVectors
    answers: FindAnswers = answers_nothing
    reproduce: Reproduce = tuple
    explorer: FindExplorer | None = None
    expression: FindExpression = knows_no_cells
    looked: Callable[[], LookedAt] = dict


def load_parts(store: Store, name: str, selection: ReportSelection, find: Finders, links: Links = HOME) -> Parts:
    """Return the parts of the report of a selection named `name`, without an author. links: base addresses of its stops' links.

    Raise NotFound for runs that were deleted.
    """
    with store.read() as db:
        material = load_material(db, selection, find.vectors, find.reproduce, find.answers)
        stops = load_stops(db, walks.of_walk(db, selection.dataset, selection.walk))
    explorers = find_explorers(material.runs, selection, find.explorer)
    material = replace(material, explorers=explorers, expression=find.expression(material.dataset.id), looked=find.looked())
    figures, appendix = arrange(selection, make_sections(material, selection))
    keyed = {f"stop-{i}": one for i, one in enumerate(stops, start=1)}
    return Parts(name, material, selection, NOBODY, figures, appendix, keyed, links)


def build_file(parts: Parts, *, slides: bool = False) -> BuiltReport:
    """Return the report, or the slides, as a file: the same parts give the same bytes."""
    document = make_slides(parts) if slides else make_page(parts)
    drawn = sum(one.chart is not None for one in document.figures.values())
    return BuiltReport(render(document), drawn, len(parts.material.chosen_rows))


def build_report(store: Store, name: str, selection: ReportSelection, find: Finders, *, slides: bool = False) -> BuiltReport:
    """Return the report, or the slides, of a selection that is called `name`, as a file."""
    return build_file(load_parts(store, name, selection, find), slides=slides)


def find_explorers(runs: Sequence[Run], selection: ReportSelection, find: FindExplorer | None) -> dict[str, ExplorerData]:
    """Return the explorers of the fusions among some runs, by run, as the selection wants them."""
    if find is None or selection.explorers == "no":
        return {}
    found = {run.id: find(run, selection.explorers == "labels") for run in runs}
    return {key: data for key, data in found.items() if data is not None}


def make_sections(material: Material, selection: ReportSelection) -> Sections:
    """Return the figures of each chosen kind, in order, each under a key that is the same for the same selection."""
    sections: dict[str, list[tuple[str, CaptionedFigure]]] = {}
    for kind in kinds_in_order(selection.asks, selection.figure_names):
        made = KINDS[kind].make(material)
        named = [replace(one, caption=caption_of(material, one)) if one.chart is not None else one for one in made]
        sections[kind] = [(f"{kind}-{i}", one) for i, one in enumerate(named, start=1)]
    return sections
