"""What figures are downloaded as, on every page that has any."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from core.plots import printed
from core.ui import widgets
from tests.ui.test_apptest import tab_of, the_run

if TYPE_CHECKING:
    from core.runs.workspace import Workspace
    from tests.ui.conftest import Visit

pytestmark = pytest.mark.soak

WITH_FIGURES = [
    ("overview", ""),
    ("rows", "Audit"),
    ("neighbours", ""),
    *(("scores", part) for part in ("", "Genes and perturbations", "Curves", "Calibration")),
    ("fuse", ""),
    ("compare", ""),
    ("data", "Spaces and leaks"),
]
FOLDED = {"fuse": {"figures": "true"}}  # what opens the figures of a page that are folded
DATASET = "simulated"
Built = dict[str, Callable[[], bytes]]


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Built:
    """What each button builds, by the name of its file."""
    found = {}

    def note(label: str, file: str, key: str, build: Callable[[], bytes]) -> None:
        assert label.lower().partition(",")[0] == file.rsplit(".", 1)[1] == key.split("-")[0]
        found[file] = build

    monkeypatch.setattr(widgets, "_show_button", note)
    return found


@pytest.mark.parametrize(("page", "tab"), WITH_FIGURES)
def test_every_table_of_a_figure_is_written_as_it_is(
    glance: Visit, little_demo: Workspace, built: Built, page: str, tab: str
) -> None:
    run = the_run(little_demo, "simulated debate")
    glance(little_demo, page, run=run.id, **tab_of(page, tab), **FOLDED.get(page, {}))
    tables = {file: build for file, build in built.items() if file.endswith((".csv", ".parquet"))}
    assert tables
    for file, build in tables.items():
        table = (pd.read_csv if file.endswith(".csv") else pd.read_parquet)(io.BytesIO(build()))
        assert len(table)
        assert file.startswith(f"{DATASET}_")


def test_the_heading_of_a_file_names_the_dataset_once(
    visit: Visit, little_demo: Workspace, built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    headings = []
    monkeypatch.setattr(printed, "encode", lambda *options: headings.append(options[-1]) or b"")
    run = the_run(little_demo, "simulated debate")
    for page, tab in (("rows", "Audit"), ("scores", "Calibration")):
        visit(little_demo, page, run=run.id, **tab_of(page, tab))
    for file, build in built.items():
        if file.endswith(".html"):
            build()
    audit, *others = (heading.split(" · ") for heading in headings)
    assert audit[0] == DATASET
    assert audit[1].startswith("simulated debate")  # its caption names the run alone
    assert others
    assert all(heading.count(DATASET) == 1 for heading in others)


def test_without_a_browser_the_menu_says_why_there_is_html_alone(
    visit: Visit, little_demo: Workspace, built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printed, "why_no_images", lambda: "PNG is drawn by a browser")
    app = visit(little_demo, "scores", **tab_of("scores", "Calibration"))
    assert {file.rsplit(".", 1)[1] for file in built} == {"csv", "parquet", "html"}
    assert any("PNG is drawn by a browser." in str(caption.value) for caption in app.caption)
