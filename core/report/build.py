"""A report as bytes, made from the store and a selection alone: the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.explorer.page import ExplorerData
from core.report.document import render
from core.report.figures.registry import KINDS
from core.report.material import FindAnswers, FindExplorer, FindVectors, Material, Reproduce
from core.report.material_loader import answers_nothing, load_material
from core.report.page import Sections, caption_of, make_page
from core.report.selection import ReportSelection
from core.report.slides import make_slides
from core.store import Store
from core.store.runs import Run


@dataclass(frozen=True, slots=True)
class BuiltReport:
    """A file's bytes, and how many figures and rows are in it."""

    content: bytes
    figures: int
    rows: int


def build_report(
    store: Store,
    name: str,
    selection: ReportSelection,
    find_vectors: FindVectors,
    *,
    slides: bool = False,
    reproduce: Reproduce = tuple,
    find_answers: FindAnswers = answers_nothing,
    find_explorer: FindExplorer | None = None,
) -> BuiltReport:
    """The report, or the slides, of a selection that is called `name`.

    find_vectors, reproduce, find_answers: as in `Material`; without published numbers among its figures a report needs no
    `reproduce`. find_explorer: None leaves explorers out. Raises NotFound for runs that were deleted.
    """
    with store.read() as db:
        material = load_material(db, selection, find_vectors, reproduce, find_answers)
    material = replace(material, explorers=find_explorers(material.runs, selection, find_explorer))
    sections = make_sections(material, selection)
    document = make_slides(name, material, sections) if slides else make_page(name, material, selection, sections)
    drawn = sum(one.chart is not None for figures in sections.values() for _, one in figures)
    return BuiltReport(render(document), drawn, len(material.chosen_rows))


def find_explorers(runs: Sequence[Run], selection: ReportSelection, find: FindExplorer | None) -> dict[str, ExplorerData]:
    """The explorers of the fusions among some runs, by run, as the selection wants them."""
    if find is None or selection.explorers == "no":
        return {}
    found = {run.id: find(run, selection.explorers == "labels") for run in runs}
    return {key: data for key, data in found.items() if data is not None}


def make_sections(material: Material, selection: ReportSelection) -> Sections:
    """The figures of each chosen kind, each under a key that is the same for the same selection."""
    sections = {}
    for kind in selection.figure_names:
        made = KINDS[kind].make(material)
        named = [replace(one, caption=caption_of(material, one)) if one.chart is not None else one for one in made]
        sections[kind] = [(f"{kind}-{i}", one) for i, one in enumerate(named, start=1)]
    return sections
