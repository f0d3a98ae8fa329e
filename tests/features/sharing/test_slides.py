"""Slides, printed: no page is blank, and every figure fills its slide."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pypdfium2
import pytest

from core.features.sharing.report.selection import select
from core.runs.workspace import Workspace
from tests.features.sharing.built import build_report
from tests.ui.conftest import OpenTab

LABELLED, COLLAPSED = "simulated debate", "simulated collapsed debate"
WIDTH_PX, HEIGHT_PX = 1280, 720  # of a slide
WHITE = 250  # of 255: what is darker is ink
STAGES = """() => [...document.querySelectorAll(".slide")].map((slide) => {
  const stage = slide.querySelector(".stage");
  return stage && [stage.offsetTop, stage.offsetTop + stage.offsetHeight];
})"""


def slides_of(workspace: Workspace) -> bytes:
    with workspace.store.read() as db:
        chosen = select(db, [LABELLED, COLLAPSED], [(COLLAPSED, LABELLED)])
    return build_report(workspace, "ours", chosen, slides=True).content


def pages_of(pdf: bytes) -> list[np.ndarray]:
    """Where there is ink on each page, of shape (HEIGHT_PX, WIDTH_PX)."""
    found = []
    for page in pypdfium2.PdfDocument(pdf):
        drawn = page.render(scale=WIDTH_PX / page.get_width(), grayscale=True).to_numpy()
        found.append(drawn.reshape(drawn.shape[0], drawn.shape[1]) < WHITE)
    return found


@pytest.mark.soak
@pytest.mark.browser
def test_every_figure_fills_its_slide_on_paper(
    open_tab: OpenTab, little_demo: Workspace, tmp_path: Path
) -> None:
    file = tmp_path / "slides.html"
    file.write_bytes(slides_of(little_demo))
    tab = open_tab()
    tab.goto(file.as_uri())
    stages = tab.evaluate(STAGES)
    pages = pages_of(tab.pdf(prefer_css_page_size=True, print_background=True))
    assert len(pages) == len(stages)
    assert sum(stage is not None for stage in stages) >= 5
    for number, (page, stage) in enumerate(zip(pages, stages, strict=True), start=1):
        assert page.shape == (HEIGHT_PX, WIDTH_PX)
        assert page.any(), f"page {number} is blank"
        if stage is None:
            continue
        figure = page[slice(*stage)]
        columns, rows = np.flatnonzero(figure.any(axis=0)), np.flatnonzero(figure.any(axis=1))
        assert np.ptp(columns) / WIDTH_PX >= 0.6, f"page {number}: its figure is too narrow"
        assert np.ptp(rows) / len(figure) >= 0.6, f"page {number}: its figure is too low"
