"""A report as bytes, made from the store and a selection alone: the same input gives the same
bytes."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace

from core.base.environment import bare_environment
from core.base.errors import StateError
from core.base.file_io import temporary_folder
from core.features import hooks
from core.features.sharing import walks
from core.features.sharing.report.document import render
from core.features.sharing.report.material import NOBODY, Material, load_material
from core.features.sharing.report.page import make_page, make_slides
from core.features.sharing.report.question import Parts, Sections, arrange, kinds_in_order
from core.features.sharing.report.selection import PARTS, ReportSelection
from core.features.sharing.report.walk import AT_HOME, load_stops
from core.plots.printed import CaptionedFigure, find_browser
from core.runs.workspace import Workspace


@dataclass(frozen=True, slots=True)
class BuiltReport:
    """A file's bytes, and how many figures and rows are in it."""

    content: bytes
    figures: int
    rows: int


def load_parts(
    workspace: Workspace, name: str, selection: ReportSelection, base: str = AT_HOME
) -> Parts:
    """Return the parts of the report of a selection named `name`, without an author. base: the
    address of the app, to which its stops lead.

    Raise NotFound for runs that were deleted.
    """
    with workspace.store.read() as db:
        material = load_material(db, selection)
        stops = load_stops(db, walks.of_walk(db, selection.dataset, selection.walk))
    tools = {
        run.id: tool
        for run in material.runs
        for find in hooks("hand_tools")
        if (tool := find(workspace, run, labels=True)) is not None
    }
    material = replace(material, tools=tools)
    figures, appendix = arrange(selection, make_sections(workspace, material, selection))
    keyed = {f"stop-{i}": one for i, one in enumerate(stops, start=1)}
    return Parts(name, material, selection, NOBODY, figures, appendix, keyed, base)


def build_file(parts: Parts, *, slides: bool = False) -> BuiltReport:
    """Return the report, or the slides, as a file: the same parts give the same bytes."""
    document = make_slides(parts) if slides else make_page(parts)
    drawn = sum(one.drawn is not None for one in document.figures.values())
    return BuiltReport(render(document), drawn, len(parts.material.chosen_rows))


def make_sections(workspace: Workspace, material: Material, selection: ReportSelection) -> Sections:
    """Return the figures of each chosen kind, in order, each under a key that is the same for the
    same selection."""
    prefix = f"{material.dataset.name} · "
    sections: dict[str, list[tuple[str, CaptionedFigure]]] = {}
    for kind in kinds_in_order(material, selection.figure_names):
        made = PARTS[kind].make(workspace, material)
        named = [
            one
            if one.drawn is None
            else replace(one, caption=prefix + one.caption.removeprefix(prefix))
            for one in made
        ]
        sections[kind] = [(f"{kind}-{i}", one) for i, one in enumerate(named, start=1)]
    return sections


WAIT_S = 120
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--no-first-run", "--no-pdf-header-footer"),
)


def as_pdf(page: bytes) -> bytes:
    """Return a report or slides as a PDF; its scripts draw the figures, and nothing else runs.

    Raise StateError without a browser.
    """
    browser = find_browser()
    if browser is None:
        raise StateError(
            "PDF: needs Chromium or Chrome, which is not installed here; open the HTML and print it"
        )
    with temporary_folder("pdf") as folder:
        source, target = folder / "report.html", folder / "report.pdf"
        source.write_bytes(page)
        profile = f"--user-data-dir={folder / 'profile'}"
        command = [
            browser,
            *_FLAGS,
            profile,
            "--virtual-time-budget=30000",
            f"--print-to-pdf={target}",
            source.as_uri(),
        ]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                timeout=WAIT_S,
                env=bare_environment(),
            )
        except subprocess.TimeoutExpired as error:
            raise StateError(
                f"PDF: {browser} has not printed within {WAIT_S} s; open the HTML and print it"
            ) from error
        if not target.is_file():
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise StateError(f"PDF: {browser} did not print (exit {done.returncode}): {last}")
        return target.read_bytes()
