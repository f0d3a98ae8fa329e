"""What a person with a browser does."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from core.base.config import REPOSITORY
from core.runs.workspace import Workspace
from core.store import Store, changes, pairs, predictions, runs
from core.store.predictions import RowFilter
from core.store.runs import Run
from tests import cases
from tests.ui.conftest import EACH_START, OpenTab, button, heading, settle, then
from tests.ui.serving import STARTS, Server, serving
from tests.ui.test_apptest import the_run

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

COLLAPSED = "simulated collapsed debate"  # a run that a page shows only when it is told to
COUNT = re.compile(r"^[\d,]+ of [\d,]+ rows$")
ROW_OF = re.compile(r"^row [\d,]+ of [\d,]+$")
IMPORTS, IMPORTED_ROWS = 2, 1000
# Keeps what is seen frame by frame: the sidebar's width, what stands there before ours, and the size of text.
FILM = """
  window.seen = [];
  const look = () => {
    const side = document.querySelector('[data-testid=stSidebar]');
    const raw = document.querySelector('[data-testid=stSidebarNav]')?.innerText?.trim();
    const size = side?.innerText.trim() ? getComputedStyle(document.documentElement).fontSize : '';
    window.seen.push({width: side ? Math.round(side.getBoundingClientRect().width) : 0, raw: raw || '', size});
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
"""


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def choose_run(page: Page, name: str) -> None:
    page.get_by_role("combobox", name="Run", exact=True).click()
    then(page, page.get_by_role("option", name=name, exact=True).click)


def on(page: Page, run: Run) -> str:
    """The name of the page in the address, once its sidebar and its address agree on the run."""
    assert query(page)["run"] == [run.id]
    assert page.get_by_role("combobox", name="Run", exact=True).input_value() == run.name
    return urlsplit(page.url).path.strip("/")


def go_to(page: Page, title: str) -> None:
    then(page, page.get_by_test_id("stSidebar").get_by_role("link", name=title).click)


def place(page: Page) -> int:
    """Which row of the list the page shows, from 1."""
    return int(page.get_by_text(ROW_OF).inner_text().split()[1].replace(",", ""))


def look_closely(page: Page) -> None:
    """Keep what is seen frame by frame."""
    page.add_init_script(FILM)


def assert_nothing_raw(page: Page) -> None:
    """No names of files; a sidebar of one width, and text of one size, from the moment that they are there."""
    page.wait_for_timeout(500)
    frames = page.evaluate("window.seen")
    assert len(frames) > 10
    assert {frame["raw"] for frame in frames} == {""}
    widths = {frame["width"] for frame in frames if frame["width"]}
    assert len(widths) == 1, widths
    assert {frame["size"] for frame in frames} - {""} == {"15px"}


def assert_left_nothing_behind(server: Server, workspace: Workspace) -> None:
    with pytest.raises(ProcessLookupError):
        os.killpg(server.process.pid, 0)  # it began a process group of its own
    assert not list(workspace.settings.data.glob("*.holder"))
    hurried = Store(
        workspace.settings.store_file, workspace.settings.cache / "scratch", timeout_s=1
    )
    with hurried.write() as db:
        changes.bump(db, "notes")


@pytest.mark.soak
@pytest.mark.parametrize("start", EACH_START)
def test_the_first_visit_to_a_fresh_server_may_be_any_page(
    open_tab: OpenTab, demo_copy: Workspace, start: str
) -> None:
    """It shows nothing raw meanwhile, and an interrupt leaves nothing behind."""
    run, page = the_run(demo_copy, COLLAPSED), open_tab()
    look_closely(page)
    with demo_copy.store.read() as db:
        row = predictions.find_pair_ids(
            db, run.id, RowFilter(flags=("role_collapse",), p_de=(0.0, 0.5))
        )[6]
    asked = {
        "run": [run.id],
        "row": [row],
        "flags": ["did not argue its side"],
        "p_de": ["0.0", "0.5"],
    }
    with serving(demo_copy.settings.workspace, STARTS[start]) as server:
        page.goto(server.url("rows", **asked))
        page.get_by_text(ROW_OF).wait_for()
        settle(page)
        assert urlsplit(page.url).path == "/rows"
        assert query(page) == asked | {"dataset": [run.dataset]}
        assert place(page) == 7
        assert heading(page).inner_text() == row.replace("_", " ⟶ ")
        assert page.get_by_role("combobox", name="Run", exact=True).input_value() == COLLAPSED
        assert page.evaluate("[window.alone, window.alerts]") == [[], []]
        assert_nothing_raw(page)
        server.stop()
        assert_left_nothing_behind(server, demo_copy)


@pytest.mark.soak
def test_the_sidebar_keeps_the_run_and_back_goes_back(
    open_tab: OpenTab, demo_server: Server, demo_workspace: Workspace
) -> None:
    run, page = the_run(demo_workspace, COLLAPSED), open_tab()
    page.goto(demo_server.url())
    settle(page)
    assert query(page)["run"] != [run.id]
    choose_run(page, COLLAPSED)
    for title in ("Rows", "Data", "Rows"):
        go_to(page, title)
        assert on(page, run) == title.lower()
    then(page, button(page, "go-right").click)
    page.get_by_text("row 2 of").wait_for()
    then(page, page.go_back)
    page.get_by_text("row 1 of").wait_for()
    for title in ("Data", "Rows", ""):
        then(page, page.go_back)
        assert on(page, run) == title.lower()


def import_files(workspace: Workspace, folder: Path) -> subprocess.Popen[bytes]:
    """A process that imports one submission after the other, each with other content and long traces."""
    with workspace.store.read() as db:
        ids = list(pairs.labels(db, the_run(workspace, COLLAPSED).dataset))[:IMPORTED_ROWS]
    for index in range(IMPORTS):
        rows = [
            (key, 0.2, 0.2 + index / 100, cases.debate_trace(EFFECT=cases.ARGUED * 10))
            for key in ids
        ]
        (folder / f"{index}.csv").write_bytes(cases.submission(rows))
    command = [
        sys.executable,
        "-m",
        "core",
        "--workspace",
        str(workspace.settings.workspace),
        "import",
    ]
    one_by_one = " && ".join(
        shlex.join([*command, str(folder / f"{index}.csv")]) for index in range(IMPORTS)
    )
    return subprocess.Popen(
        ["sh", "-c", one_by_one],
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.soak
def test_reading_goes_on_while_another_process_imports(
    open_tab: OpenTab, demo_copy: Workspace, tmp_path: Path
) -> None:
    page, run = open_tab(), the_run(demo_copy, COLLAPSED)
    with serving(demo_copy.settings.workspace) as server:
        page.goto(server.url("rows", run=run.id))
        settle(page)
        importing, moves = import_files(demo_copy, tmp_path), 0
        try:
            while importing.poll() is None:
                button(page, "go-right").click()
                moves += 1
                page.get_by_text(f"row {moves + 1:,} of").wait_for()
        finally:
            importing.kill()
        assert importing.wait() == 0
        assert moves > IMPORTS
        assert page.evaluate("window.alerts") == []
    with demo_copy.store.read() as db:
        assert {str(index) for index in range(IMPORTS)} < {run.name for run in runs.list_all(db)}
