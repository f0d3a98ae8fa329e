"""A walk-through as slides, and in a report: every stop has what is seen there and a link to its view."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

from core.features.reading.report_parts import labels_of_dataset
from core.features.sharing import walks
from core.features.sharing.report.selection import select
from core.features.sharing.report.walk import AT_HOME, keep_figure, walk_file
from core.features.sharing.walks import Stop
from core.runs import actions as run_actions
from core.runs.workspace import Workspace
from core.store import datasets, runs
from tests.commands import core, core_json
from tests.features.sharing.built import build_report

pytestmark = pytest.mark.soak

HOSTILE = "</h2><script>alert(1)</script>"


@pytest.fixture
def walked(small_workspace: Workspace) -> Workspace:
    """A workspace with a walk-through of three stops: a row, a figure, and a view."""
    with small_workspace.store.read() as db:
        run, counts = runs.find(db, "debate"), datasets.counts(db)
    figure = keep_figure(labels_of_dataset("bmdm", counts))
    row = Stop(
        dataset=run.dataset,
        walk="Monday",
        title="Pa ⟶ Gb",
        address=f"./rows?run={run.id}&row=Pa_Gb",
        sentence=HOSTILE,
        run=run.id,
        pair_id="Pa_Gb",
    )
    for stop in (
        row,
        replace(
            row,
            title="Labels",
            address="./scores?part=Slices",
            sentence="",
            pair_id=None,
            figure=figure,
        ),
        replace(
            row, title="half and half", address="./fuse?w=0.5", sentence="No change.", pair_id=None
        ),
    ):
        walks.add_stop(small_workspace, stop)
    return small_workspace


def slides_of(workspace: Workspace, base: str = AT_HOME) -> str:
    with workspace.store.read() as db:
        home, _ = walks.find_walk(db, "Monday")
        return walk_file(db, home, "Monday", base).decode()


def test_each_stop_is_a_slide_with_a_link(walked: Workspace) -> None:
    page = slides_of(walked, "https://desk.example/")
    assert page == slides_of(walked, "https://desk.example/")
    slides = re.findall(r'<section class="slide stop">.*?</section>', page, re.DOTALL)
    addresses = [html.unescape(re.search(r'href="([^"]+)"', slide)[1]) for slide in slides]
    with walked.store.read() as db:
        run = runs.find(db, "debate")
    assert addresses == [
        f"https://desk.example/rows?run={run.id}&row=Pa_Gb",
        "https://desk.example/scores?part=Slices",
        "https://desk.example/fuse?w=0.5",
    ]
    assert "<em>Pa</em> ⟶ <em>Gb</em>" in slides[0]
    assert html.escape(HOSTILE) in slides[0]
    assert HOSTILE not in page
    assert 'id="stop-2"' in slides[1]
    assert "No change." in slides[2]


def test_a_stop_outlives_its_run(walked: Workspace) -> None:
    run_actions.delete(walked, "debate")
    assert "Its run was deleted from this workspace." in slides_of(walked)


def test_a_report_has_the_stops_of_its_walk_through(walked: Workspace) -> None:
    with walked.store.read() as db:
        chosen = replace(select(db, ["debate"], figures=["labels"]), walk="Monday")
    for slides in (False, True):
        built = build_report(walked, "r", chosen, slides=slides)
        assert built.figures == 2
        text = built.content.decode()
        assert text.count('class="chart"') == 2
        assert html.escape(HOSTILE) in text
        assert "http://localhost:8501/fuse?w=0.5" in text


def test_commands_list_export_and_delete(walked: Workspace, tmp_path: Path) -> None:
    place = walked.settings.workspace
    assert core_json(place, "report walk list") == {
        "walks": [{"name": "Monday", "dataset": "bmdm", "stops": 3}]
    }
    out = tmp_path / "walk.html"
    made = core_json(place, "report", "walk", "export", "Monday", "--out", str(out))
    assert (made["path"], made["stops"]) == (str(out), 3)
    assert out.read_text("utf-8") == slides_of(walked)
    assert (
        core(place, "report", "walk", "export", "Tuesday", "--out", str(tmp_path / "x.html")).status
        == 1
    )
    core_json(place, "report walk delete Monday")
    assert core_json(place, "report walk list") == {"walks": []}
    with walked.store.read() as db:
        assert walks.list_all(db) == []
