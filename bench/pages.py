"""Pages in a real browser on a full workspace, beside the least that Streamlit can show: a title and a button.

Times are taken inside the browser, from the start of a navigation or a click to the frame that shows the result.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from playwright.sync_api import Page, sync_playwright

from core.actions.demo import make_demo
from core.actions.imports import import_paths
from core.actions.spaces import embed
from core.actions.workspace import Workspace, open_workspace
from core.config import REPOSITORY, Settings
from core.errors import MissingPackage
from core.store import predictions, runs
from tests.ui.serving import CHROMIUM_FLAGS, Server, chromium, serving

REAL_DATA = REPOSITORY.parent / "shared" / "data"
LOADS, MOVES, SETTLED_MS = 7, 30, 1000
RUNS = {"real": "track_b_sharp", "demo": "simulated debate"}
LABELLED = {"real": "track_a_logprobs_train2499", "demo": "simulated debate"}
SLIDERS = {"weight": "w_de_knn", "power": "power"}  # of What-if: the key of its widget
# What is there to read on each page: its table, its row, its figures, its controls.
CONTENT = {
    "overview": ("", {}, "[data-testid=stMain] [data-testid=stDataFrame] canvas"),
    "debates": ("debates", {}, "[data-testid=stMain] h3"),
    "debates audit": ("debates", {"tab": "Audit"}, "[data-testid=stMain] [class*=st-key-numbers-] strong"),
    "breakdown": ("breakdown", {}, "[data-testid=stMain] strong"),
    "compare": ("compare", {}, "[data-testid=stMain] strong"),
    "neighbours": ("neighbours", {}, "[data-testid=stMain] [class*=st-key-numbers-] strong"),
    "what-if": ("what_if", {}, "[data-testid=stMain] [class*=st-key-numbers-] strong"),
    "data": ("data", {}, "[data-testid=stMain] [data-testid=stFileUploader]"),
}
# Resolves with the time of the first frame after `content` is there, since the navigation began.
SHOWN = """selector => new Promise(resolve => {
  const look = () => document.querySelector(selector) ? resolve(performance.now()) : requestAnimationFrame(look);
  look();
})"""
# Notes when a key goes down and, in `moved`, the time from then to the first frame after the text is another.
WATCHED = """selector => {
  const text = () => document.querySelector(selector)?.innerText;
  const before = text();
  window.moved = null;
  document.addEventListener("keydown", () => { window.pressed = performance.now(); }, {once: true, capture: true});
  const observer = new MutationObserver(() => {
    const now = text();
    if (!now || now === before) return;
    observer.disconnect();
    requestAnimationFrame(() => { window.moved = performance.now() - window.pressed; });
  });
  observer.observe(document.body, {subtree: true, childList: true, characterData: true});
}"""
CHANGE = "[data-testid=stMain] [data-testid=stMarkdownContainer] p > strong:first-child"  # the change of the mean, in What-if
# Clicks, and resolves with the time until the first frame after the heading's text is another, and with that text.
CLICKED = """([button, heading]) => new Promise(resolve => {
  const text = () => document.querySelector(heading)?.innerText;
  const [before, start] = [text(), performance.now()];
  const observer = new MutationObserver(() => {
    const now = text();
    if (!now || now === before) return;
    observer.disconnect();
    requestAnimationFrame(() => resolve([performance.now() - start, now]));
  });
  observer.observe(document.body, {subtree: true, childList: true, characterData: true});
  [...document.querySelectorAll(button)].find(one => one.offsetParent).click();
})"""
IDLE = "() => document.querySelector('[data-test-script-state=notRunning]')"
HELLO = """import streamlit as st
st.session_state.clicks = st.session_state.get("clicks", 0)
def clicked(): st.session_state.clicks += 1
st.button("Again", on_click=clicked)
st.title(f"Hello, {st.session_state.clicks} times")
"""
HELLO_SERVER = """import streamlit as st
from starlette.middleware import Middleware
from core.ui.server import SecurityHeaders
app = st.App("hello.py", middleware=[Middleware(SecurityHeaders)])
"""


def run() -> dict[str, Any]:
    """First contents and steps to the next row, with their floor; max_abs_diff counts steps to another row than the next."""
    with tempfile.TemporaryDirectory() as folder, _browser() as page:
        workspace, data = _workspace(Path(folder) / "workspace")
        ours = _measure_desk(page, workspace, data)
        reference = _measure_hello(page, Path(folder))
    return {
        "name": "pages",
        "ours_s": ours["next_row_ms_median"] / 1000,
        "reference_s": reference["click_ms"] / 1000,
        "ratio": reference["click_ms"] / ours["next_row_ms_median"],
        "data": data,
        **ours,
        "first_content_ms_reference": reference["first_content_ms"],
        "peak_mb_reference": reference["peak_mb"],
    }


@contextmanager
def _browser() -> Iterator[Page]:
    found = chromium()
    if found is None:
        raise MissingPackage("bench pages: needs Chromium or Chrome on the path; install your system's package")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=CHROMIUM_FLAGS)
        yield started.new_page(viewport={"width": 1280, "height": 900})
        started.close()


def _workspace(folder: Path) -> tuple[Workspace, str]:
    """A workspace with the published files where they are at hand, else with the demo."""
    workspace = open_workspace(Settings(workspace=folder))
    if REAL_DATA.is_dir():
        import_paths(workspace, [REAL_DATA / name for name in ("challenge", "perturbagent", "knowledge/gene_desc.json")])
        embed(workspace, "text", "text", {"columns": 200, "seed": 0})
        return workspace, "real"
    make_demo(workspace)
    return workspace, "demo"


def _measure_desk(page: Page, workspace: Workspace, data: str) -> dict[str, Any]:
    with workspace.store.read() as db:
        run, labelled = runs.find(db, RUNS[data]).id, runs.find(db, LABELLED[data]).id
        ids = predictions.find_pair_ids(db, run, predictions.RowFilter())
    with serving(workspace.settings.workspace) as server:
        first = {
            title: _first_content(page, server.url(path, run=labelled if title == "what-if" else run, **parameters), content)
            for title, (path, parameters, content) in CONTENT.items()
        }
        page.goto(server.url("debates", run=run))
        page.evaluate(SHOWN, CONTENT["debates"][2])
        steps = [_click(page, ".st-key-go-right button", CONTENT["debates"][2]) for _ in range(MOVES)]
        moves = {what: _slide(page, server.url("what_if", run=labelled), key) for what, key in SLIDERS.items()}
        peak_mb = _memory_mb(server)
    times = sorted(ms for ms, _ in steps)
    expected = [key.replace("_", " ⟶ ") for key in ids[1 : MOVES + 1]]
    return {
        "first_content_ms": first,
        "next_row_ms_median": median(times),
        "next_row_ms_p95": times[int(0.95 * MOVES)],
        **{f"{what}_slider_ms_median": ms for what, ms in moves.items()},
        "max_abs_diff": sum(shown != wanted for (_, shown), wanted in zip(steps, expected, strict=True)),
        "peak_mb_ours": peak_mb,
    }


def _measure_hello(page: Page, folder: Path) -> dict[str, float]:
    (folder / "hello.py").write_text(HELLO)
    (folder / "hello_server.py").write_text(HELLO_SERVER)
    with serving(folder, ("-m", "streamlit", "run", str(folder / "hello_server.py"))) as server:
        first_content_ms = _first_content(page, server.url(), "h1")
        clicks = [_click(page, "[data-testid=stButton] button", "h1") for _ in range(MOVES)]
        return {
            "first_content_ms": first_content_ms,
            "click_ms": median(ms for ms, _ in clicks),
            "peak_mb": _memory_mb(server),
        }


def _first_content(page: Page, address: str, content: str) -> float:
    """The median over `LOADS` loads after one that warms the caches of browser and server, in ms."""
    times = []
    for _ in range(LOADS + 1):
        page.goto(address, wait_until="commit")
        times.append(float(page.evaluate(SHOWN, content)))
        page.wait_for_function(IDLE)
    return median(times[1:])


def _click(page: Page, button: str, heading: str) -> tuple[float, str]:
    """(ms, new heading) of a click by somebody who waits for the last one's end."""
    page.locator(f"{button}:visible").wait_for()
    page.wait_for_function(IDLE)
    ms, text = page.evaluate(CLICKED, [button, heading])
    return float(ms), str(text)


def _slide(page: Page, address: str, key: str) -> float:
    """The median ms from a key press on a slider to new numbers; a press that changes none counts for nothing."""
    page.goto(address)
    page.wait_for_function(IDLE)
    slider, times = page.locator(f".st-key-{key} input[type=range]"), []
    for move in range(MOVES):
        slider.focus()
        page.evaluate(WATCHED, CHANGE)
        slider.press("ArrowRight" if move // 3 % 2 else "ArrowLeft")
        page.wait_for_timeout(SETTLED_MS)
        page.wait_for_function(IDLE)
        if (ms := page.evaluate("window.moved")) is not None:
            times.append(float(ms))
    return median(times)


def _memory_mb(server: Server) -> float:
    return float(psutil.Process(server.process.pid).memory_info().rss / 2**20)
