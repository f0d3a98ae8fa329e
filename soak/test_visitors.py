"""Twenty visitors at once, each with a move every fifteen seconds, while a run writes: two rounds of two minutes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pytest
from playwright.sync_api import Browser, Page

from bench.pages import make_workspace
from core.actions import run_control
from core.config import REPOSITORY
from core.llm import scripted_server
from soak.conftest import Record
from tests.ui.conftest import browser, new_context, settle  # noqa: F401
from tests.ui.script_times import ScriptTimes
from tests.ui.serving import Server, serving
from tests.ui.watch import Watch

VISITORS, ROUND_S, EVERY_S = 20, 120.0, 15.0
SERVER_P95_S, MORE_MB = 3.0, 50
# What a visitor does, once a round: a page's name opens it, anything else is a key pressed there.
WALK = ("Debates", "j", "j", "Breakdown", "What-if", "Compare", "Neighbours", "Overview")
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
    """A tab in a context of its own. step: what it does next; server: how long the server takes."""

    page: Page
    step: int
    server: ScriptTimes

    def move(self) -> None:
        name = WALK[self.step % len(WALK)]
        self.step += 1
        if name in PAGES:
            self.page.get_by_test_id("stSidebar").get_by_role("link", name=name, exact=True).click()
        else:
            self.page.keyboard.press(name)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """The app on the published files, else on the demo, while a run writes to it."""
    workspace, _ = make_workspace(tmp_path / "workspace")
    with workspace.store.read() as db:
        dataset = db.execute("SELECT name FROM dataset ORDER BY name LIMIT 1").fetchone()
    assert dataset is not None
    with scripted_server.serving(scripted_server.Script(delay_s=0.5)) as model:
        place = ("--workspace", str(workspace.settings.workspace))
        run = ("run", "debate", "--dataset", dataset[0], "--endpoint", model, "--name", "written meanwhile", "--detach")
        subprocess.run([sys.executable, "-m", "core", *place, *run], cwd=REPOSITORY, check=True)
        with serving(workspace.settings.workspace) as served:
            yield served
        [status] = run_control.states(workspace).values()
        assert status.state == "running"  # it wrote to the end
        assert status.pid is not None
        psutil.Process(status.pid).kill()


def walk(visitors: list[Visitor]) -> None:
    """One round: each visitor moves every `EVERY_S`, one after another."""
    began = time.monotonic()
    for k in range(round(VISITORS * ROUND_S / EVERY_S)):
        due = began + k * EVERY_S / VISITORS
        visitors[0].page.wait_for_timeout(max(1.0, 1000 * (due - time.monotonic())))
        visitors[k % VISITORS].move()
    visitors[0].page.wait_for_timeout(1000 * EVERY_S)


def test_twenty_visitors_wait_little_while_a_run_writes(browser: Browser, server: Server, record: Record) -> None:  # noqa: F811
    watch, process, used = Watch(), psutil.Process(server.process.pid), []
    visitors = []
    for k in range(VISITORS):
        page = new_context(browser).new_page()
        page.add_init_script(TIMED)
        watch.over(page, server)
        page.goto(server.url())
        settle(page)
        visitors.append(Visitor(page, STARTS[k % len(STARTS)], ScriptTimes(page)))
    for _ in range(2):
        walk(visitors)
        used.append(process.memory_info().rss / 2**20)
    on_server = np.concatenate([visitor.server.seconds for visitor in visitors])
    in_all = np.concatenate([visitor.page.evaluate("window.moves") for visitor in visitors]) / 1000
    shown = {"server": on_server, "until drawn": in_all}
    quantiles = {f"{name} p{q} s": f"{np.quantile(values, q / 100):.2f}" for name, values in shown.items() for q in (50, 95)}
    record(moves=len(on_server), drawn=len(in_all), **quantiles, server_mb=[round(mb) for mb in used])
    assert watch.errors == []
    assert watch.outside == []
    assert sum(visitor.page.get_by_test_id("stException").count() for visitor in visitors) == 0
    assert len(on_server) >= 0.9 * 2 * VISITORS * ROUND_S / EVERY_S
    assert np.quantile(on_server, 0.95) <= SERVER_P95_S
    assert used[1] - used[0] < MORE_MB
