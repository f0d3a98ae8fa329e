"""Twenty people at a shared server, readers and editors, each with a move every fifteen seconds, while a run writes and files are
imported: two rounds of two minutes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pytest
from playwright.sync_api import Browser, Page

from bench.pages import REAL_DATA, make_workspace
from core.base.config import REPOSITORY
from core.runs import run_control
from core.runs.workspace import Workspace
from soak.conftest import Record
from tests.fakes import scripted as scripted_server
from tests.ui import timed_server
from tests.ui.conftest import browser, new_context  # noqa: F401
from tests.ui.provider import providing, sign_in
from tests.ui.serving import Server, serving
from tests.ui.watch import Watch

VISITORS, ROUND_S, EVERY_S = 20, 120.0, 15.0
EDITOR, READER = "ada@lab.example", "bob@lab.example"
PEOPLE = {"ada": {"email": EDITOR, "name": "Ada"}, "bob": {"email": READER, "name": "Bob"}}
IMPORT_AGAIN_AND_AGAIN = """
import sys
import time
from pathlib import Path
from core.features.importing.actions import import_paths
from core.features.importing.imported_rows import undo
from core.runs.workspace import open_workspace
from core.base.config import load_settings
workspace, file = open_workspace(load_settings(Path(sys.argv[1]))), Path(sys.argv[2])
while True:
    [done] = import_paths(workspace, [file])
    print(done.kind if done.kind == "failed" else "imported", flush=True)
    undo(workspace, file.name, with_runs=True)
    time.sleep(5)
"""
SERVER_P95_S, MORE_MB = 3.0, 50
TIMED_START, SCRIPT_TIMES = ("-m", "tests.ui.timed_server"), "script_times.txt"
# What a visitor does, once a round: a page's name opens it, anything else is a key pressed there.
WALK = ("Rows", "j", "j", "Scores", "Fuse", "Compare", "Neighbours", "Overview")
PAGES = frozenset(step for step in WALK if len(step) > 1)
STARTS = [k for k, step in enumerate(WALK) if step in PAGES]
# Notes the milliseconds from a key or a click to the frame after the script that it started has ended.
TIMED = """window.moves = [];
(() => {
  let start = null, ran = false;
  const begin = () => { start = performance.now(); ran = false; };
  for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, begin, true);
  new MutationObserver(() => {
    const state = document.querySelector("[data-testid=stApp]")?.dataset.testScriptState;
    if (start === null || !state) return;
    if (state === "running") ran = true;
    if (state !== "notRunning" || !ran) return;
    const began = start;
    start = null;
    requestAnimationFrame(() => window.moves.push(performance.now() - began));
  }).observe(document, {subtree: true, childList: true, attributes: true, attributeFilter: ["data-test-script-state"]});
})();"""


@dataclass
class Visitor:
    """A tab in a context of its own. step: what it does next."""

    page: Page
    step: int

    def move(self) -> None:
        name = WALK[self.step % len(WALK)]
        self.step += 1
        if name in PAGES:
            self.page.get_by_test_id("stSidebar").get_by_role("link", name=name, exact=True).click()
        else:
            self.page.keyboard.press(name)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """The app on the published files, else on the demo, to people who sign in, while a run writes to it and, of the published
    files, one is imported and undone again and again."""
    workspace, data = make_workspace(tmp_path / "workspace")
    with workspace.store.read() as db:
        dataset = db.execute("SELECT name FROM dataset ORDER BY name LIMIT 1").fetchone()
    with scripted_server.serving(scripted_server.Script(delay_s=5.0)) as model:
        place = ("--workspace", str(workspace.settings.workspace))
        run = (
            "run",
            "debate",
            "--dataset",
            dataset[0],
            "--endpoint",
            model,
            "--name",
            "written meanwhile",
            "--detach",
        )
        subprocess.run([sys.executable, "-m", "core", *place, *run], cwd=REPOSITORY, check=True)
        roles = {
            "PERTURBDESK_EDITORS": EDITOR,
            "PERTURBDESK_READERS": READER,
            timed_server.FILE: str(tmp_path / SCRIPT_TIMES),
        }
        with (
            providing(PEOPLE, tmp_path) as secrets,
            importing(
                workspace,
                REAL_DATA / "entries_more" / "track_b_adversarial_ens3.zip"
                if data == "real"
                else None,
            ),
            serving(
                workspace.settings.workspace,
                TIMED_START,
                PERTURBDESK_SECRETS_FILE=str(secrets),
                **roles,
            ) as served,
        ):
            yield served
        [status] = run_control.states(workspace).values()
        assert status.state == "running"  # it wrote to the end
        assert status.pid is not None
        psutil.Process(status.pid).kill()


@contextmanager
def importing(workspace: Workspace, file: Path | None) -> Iterator[None]:
    """Import a file and undo that, in a process of its own, again and again while the block lasts."""
    if file is None:
        yield
        return
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            IMPORT_AGAIN_AND_AGAIN,
            str(workspace.settings.workspace),
            str(file),
        ],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield
        assert process.poll() is None
    finally:
        process.kill()
        imported, _ = process.communicate()
    assert "imported" in imported


def walk(visitors: list[Visitor]) -> None:
    """One round: each visitor moves every `EVERY_S`, one after another."""
    began = time.monotonic()
    for k in range(round(VISITORS * ROUND_S / EVERY_S)):
        due = began + k * EVERY_S / VISITORS
        visitors[0].page.wait_for_timeout(max(1.0, 1000 * (due - time.monotonic())))
        visitors[k % VISITORS].move()
    visitors[0].page.wait_for_timeout(1000 * EVERY_S)


def test_twenty_people_wait_little_while_a_run_writes(
    browser: Browser,  # noqa: F811
    server: Server,
    tmp_path: Path,
    record: Record,
) -> None:
    watch, process, used = Watch(), psutil.Process(server.process.pid), []
    load = psutil.getloadavg()[0]
    visitors = []
    for k in range(VISITORS):
        page = new_context(browser).new_page()
        page.add_init_script(TIMED)
        sign_in(
            page, server, tuple(PEOPLE)[k % len(PEOPLE)]
        )  # the provider's page asks for a style sheet elsewhere
        watch.over(page, server)
        visitors.append(Visitor(page, STARTS[k % len(STARTS)]))
    before = len((tmp_path / SCRIPT_TIMES).read_text().split())
    for _ in range(2):
        walk(visitors)
        used.append(process.memory_info().rss / 2**20)
    on_server = np.array((tmp_path / SCRIPT_TIMES).read_text().split()[before:], float)
    in_all = np.concatenate([visitor.page.evaluate("window.moves") for visitor in visitors]) / 1000
    shown = {"server": on_server, "until drawn": in_all}
    quantiles = {
        f"{name} p{q} s": f"{np.quantile(values, q / 100):.2f}"
        for name, values in shown.items()
        for q in (50, 95)
    }
    record(
        moves=len(on_server),
        drawn=len(in_all),
        **quantiles,
        server_mb=[round(mb) for mb in used],
        load=load,
    )
    assert watch.errors == []
    assert watch.outside == []
    assert sum(visitor.page.get_by_test_id("stException").count() for visitor in visitors) == 0
    assert len(on_server) >= 0.9 * 2 * VISITORS * ROUND_S / EVERY_S
    assert np.quantile(on_server, 0.95) <= SERVER_P95_S
    assert used[1] - used[0] < MORE_MB
