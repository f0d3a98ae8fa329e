"""Pages in a real browser on a full workspace, beside the least that Streamlit can show: a title and a button.

Times are taken inside the browser, from the start of a navigation or a click to the frame that shows the result.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from playwright.sync_api import Browser, Page

from bench import first_visit
from core.base.config import REPOSITORY, Settings
from core.features.demo.actions import make_demo
from core.features.importing.actions import import_paths
from core.features.neighbours.spaces import embed
from core.runs.workspace import Workspace, open_workspace
from core.store import predictions, runs
from tests.ui.serving import Server, serving, started_browser

REAL_DATA = REPOSITORY.parent / "shared" / "data"
LOADS, MOVES = 7, 30
LONGEST_MS = 180_000  # for a first load, of which everything is computed, on a machine that does other things too
SETTLED_MS = (
    2000  # after a move of a slider: what comes from the server once the hand rests has been drawn
)
RUNS = {"real": "track_b_sharp", "demo": "simulated debate"}
LABELLED = {"real": "track_a_logprobs_train2499", "demo": "simulated debate"}
ON_LABELS = ("fuse", "compare")  # pages that are measured on the run with labels
MOVED = ("next_row", "weight_slider", "power_slider")
# Of Fuse, each with the keys that lower and raise it: a weight by tenths, since a hundredth often changes no decimal of the mean.
SLIDERS = {
    "weight": ("input[data-key=w_de_knn]", "PageDown", "PageUp"),
    "power": (".st-key-power input[type=range]", "ArrowLeft", "ArrowRight"),
}
PHRASES = {"real": "cell cycle", "demo": "expression"}  # which texts of either hold
# What a person waits for on each page: a verdict, a row and its first brief, numbers, controls. An element by its selector, with
# the words that it holds behind ». In braces a column of the first row, and the phrase.
CONTENT = {
    "overview": ("", {}, "[data-testid=stMain] .st-key-verdict strong"),
    "overview, its picture": ("", {}, "[data-testid=stMain] .st-key-figure-standings .field s"),
    "overview, its table": ("", {}, "[data-testid=stMain] [data-testid=stDataFrame] canvas"),
    "rows": ("rows", {}, "[data-testid=stMain] h3"),
    "rows, the first brief": (
        "rows",
        {},
        "[data-testid=stMain] [data-testid=stMarkdown] p » EFFECT",
    ),
    "rows audit": ("rows", {"tab": "Audit"}, "[data-testid=stMain] strong"),
    "arguments": ("arguments", {}, "[data-testid=stMain] .st-key-id-rubric"),
    "scores": ("scores", {}, "[data-testid=stMain] strong"),
    "compare, its verdict": ("compare", {}, "[data-testid=stMain] strong"),
    "ledger": ("experiments", {"tab": "Ledger"}, "[data-testid=stMain] [data-testid=stMarkdown] p"),
    "neighbours": ("neighbours", {}, "[data-testid=stMain] [class*=st-key-numbers-] strong"),
    "fuse": ("fuse", {}, ".fusion .scores .number:not(:empty)"),
    "fuse, its plane": ("fuse", {}, ".fusion .plane svg rect[fill-opacity]"),
    "package": (
        "share",
        {"tab": "Package a run"},
        "[data-testid=stMain] :is([data-testid=stDownloadButton], [data-testid=stAlert])",
    ),
    "run": ("run", {}, "[data-testid=stMain] .st-key-id-method"),
    "search": ("search", {"phrase": "{phrase}"}, "[data-testid=stMain] .st-key-hits"),
    "report": ("share", {}, "[data-testid=stMain] [data-testid=stDownloadButton]"),
    "gene": ("gene", {"name": "{gene}"}, "[data-testid=stMain] [data-testid=stText]"),
    "perturbation": (
        "perturbation",
        {"name": "{pert}"},
        "[data-testid=stMain] [data-testid=stText]",
    ),
    "data": ("data", {}, "[data-testid=stMain] [data-testid=stFileUploader]"),
}
# Finds an element in the page, or in the explorer of a fusion, which stands apart from it.
FIND = """const parts = () => [...document.querySelectorAll('.st-key-fusion-explorer *')];
  const inside = () => parts().find(each => each.shadowRoot)?.shadowRoot;
  const find = wanted => {
    const [selector, words] = wanted.split(" » ");
    if (words) return [...document.querySelectorAll(selector)].find(each => each.innerText.includes(words));
    return document.querySelector(selector) ?? inside()?.querySelector(selector);
  };"""
# Resolves with the time of the first frame after `content` is there, since the navigation began.
SHOWN = (
    f"""selector => new Promise((resolve, reject) => {{
  {FIND}"""
    """
  const look = () => {
    if (find(selector)) resolve(performance.now());
    else if (performance.now() > 60_000) reject(new Error(`${selector}: not there after a minute`));
    else requestAnimationFrame(look);
  };
  look();
})"""
)
# Notes when a key goes down and, in `moved`, the time from then to the first frame after the text is another.
WATCHED = (
    f"""selector => {{
  {FIND}"""
    """
  const text = () => find(selector)?.innerText;
  const before = text();
  window.moved = null;
  document.addEventListener("keydown", () => { window.pressed = performance.now(); }, {once: true, capture: true});
  const observer = new MutationObserver(() => {
    const now = text();
    if (!now || now === before) return;
    observer.disconnect();
    requestAnimationFrame(() => { window.moved = performance.now() - window.pressed; });
  });
  const watched = {subtree: true, childList: true, characterData: true};
  for (const root of [document.body, inside()]) if (root) observer.observe(root, watched);
}"""
)
CHANGE = ".fusion .scores .mean .number"  # the mean, in Fuse
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
from core.features.server.server import add_security_headers
app = st.App("hello.py", middleware=[Middleware(add_security_headers)])
"""


def run() -> dict[str, Any]:
    """First contents and steps to the next row, with their floor; max_abs_diff counts steps to another row than the next."""
    with tempfile.TemporaryDirectory() as folder, started_browser() as browser:
        workspace, data = make_workspace(Path(folder) / "workspace")
        visits = first_visit.measure(browser, workspace.settings.workspace, Path(folder))
        ours = _measure_desk(browser, workspace, data)
        reference = _measure_hello(browser, Path(folder))
    floor = reference["first_content_ms"]
    return {
        "name": "pages",
        "ours_s": ours["next_row_ms_median"] / 1000,
        "reference_s": reference["click_ms"] / 1000,
        "ratio": reference["click_ms"] / ours["next_row_ms_median"],
        "data": data,
        **visits,
        **ours,
        "first_content_ms_reference": floor,
        "first_content_times_reference": {
            title: ms / floor for title, ms in ours["first_content_ms"].items()
        },
        "moves_times_reference": {
            name: ours[f"{name}_ms_median"] / reference["click_ms"] for name in MOVED
        },
        "peak_mb_reference": reference["peak_mb"],
    }


@contextmanager
def _tab(browser: Browser) -> Iterator[Page]:
    """A tab of its own, as a link opens one: what earlier pages left in a browser's memory slows the next."""
    with closing(browser.new_page(viewport={"width": 1280, "height": 900})) as page:
        page.set_default_timeout(LONGEST_MS)
        yield page


def make_workspace(folder: Path) -> tuple[Workspace, str]:
    """A workspace with the published files where they are at hand, else with the demo."""
    workspace = open_workspace(Settings(workspace=folder))
    if REAL_DATA.is_dir():
        import_paths(
            workspace,
            [
                REAL_DATA / name
                for name in ("challenge", "perturbagent", "knowledge/gene_desc.json")
            ],
        )
        embed(workspace, "text", "text", {"columns": 200, "seed": 0})
        return workspace, "real"
    make_demo(workspace)
    return workspace, "demo"


def _measure_desk(browser: Browser, workspace: Workspace, data: str) -> dict[str, Any]:
    with workspace.store.read() as db:
        run, labelled = runs.find(db, RUNS[data]).id, runs.find(db, LABELLED[data]).id
        ids = predictions.find_pair_ids(db, run, predictions.RowFilter())
        first_row = {**predictions.row(db, run, ids[0]), "phrase": PHRASES[data]}
    with serving(workspace.settings.workspace) as server:
        first = _first_contents(browser, server, (run, labelled), first_row)
        steps = _clicks(
            browser, server.url("rows", run=run), ".st-key-go-right button", CONTENT["rows"][2]
        )
        moves = {
            f"{what}_slider": _slide(browser, server.url("fuse", run=labelled), *how)
            for what, how in SLIDERS.items()
        }
        peak_mb = _memory_mb(server)
    moves["next_row"] = [ms for ms, _ in steps]
    expected = [key.replace("_", " ⟶ ") for key in ids[1 : MOVES + 1]]
    return {
        "first_content_ms": first,
        **{f"{what}_ms_median": _quantile(times, 0.5) for what, times in moves.items()},
        **{f"{what}_ms_p95": _quantile(times, 0.95) for what, times in moves.items()},
        "max_abs_diff": sum(
            shown != wanted for (_, shown), wanted in zip(steps, expected, strict=True)
        ),
        "peak_mb_ours": peak_mb,
    }


def _quantile(times: Sequence[float], share: float) -> float:
    """The time below which a share of the times lies; NaN where no press changed a number."""
    return sorted(times)[int(share * len(times))] if times else math.nan


def _first_contents(
    browser: Browser,
    server: Server,
    of: tuple[str, str],
    row: Mapping[str, Any],
) -> dict[str, float]:
    """The ms to the first content of every page. of: the run that pages show, and that of Fuse; row: of the first of them."""
    found = {}
    for title, (path, parameters, content) in CONTENT.items():
        of_row = {name: value.format_map(row) for name, value in parameters.items()}
        address = server.url(path, run=of[title.startswith(ON_LABELS)], **of_row)
        found[title] = _first_content(browser, address, content)
    return found


def _measure_hello(browser: Browser, folder: Path) -> dict[str, float]:
    (folder / "hello.py").write_text(HELLO)
    (folder / "hello_server.py").write_text(HELLO_SERVER)
    with serving(folder, ("-m", "streamlit", "run", str(folder / "hello_server.py"))) as server:
        first_content_ms = _first_content(browser, server.url(), "h1")
        clicks = _clicks(browser, server.url(), "[data-testid=stButton] button", "h1")
        return {
            "first_content_ms": first_content_ms,
            "click_ms": median(ms for ms, _ in clicks),
            "peak_mb": _memory_mb(server),
        }


def _first_content(browser: Browser, address: str, content: str) -> float:
    """The median over `LOADS` loads after one that warms the caches of browser and server, in ms."""
    times = []
    with _tab(browser) as page:
        for _ in range(LOADS + 1):
            page.goto(address, wait_until="commit")
            times.append(float(page.evaluate(SHOWN, content)))
            page.wait_for_function(IDLE)
    return median(times[1:])


def _clicks(browser: Browser, address: str, button: str, heading: str) -> list[tuple[float, str]]:
    """(ms, new heading) of each click by somebody who waits for the last one's end."""
    found = []
    with _tab(browser) as page:
        page.goto(address)
        page.evaluate(SHOWN, heading)
        for _ in range(MOVES):
            page.locator(f"{button}:visible").wait_for()
            page.wait_for_function(IDLE)
            ms, text = page.evaluate(CLICKED, [button, heading])
            found.append((float(ms), str(text)))
    return found


def _slide(browser: Browser, address: str, selector: str, lower: str, higher: str) -> list[float]:
    """The ms from each key press on a slider to new numbers; a press that changes none counts for nothing."""
    times = []
    with _tab(browser) as page:
        page.goto(address)
        page.wait_for_function(IDLE)
        page.get_by_text("Ranks and neighbours: settings").click()  # where the power is
        slider = page.locator(selector)
        for move in range(MOVES):
            slider.focus()
            page.evaluate(WATCHED, CHANGE)
            slider.press(higher if move // 3 % 2 else lower)
            page.wait_for_timeout(SETTLED_MS)
            page.wait_for_function(IDLE)
            if (ms := page.evaluate("window.moved")) is not None:
                times.append(float(ms))
    return times


def _memory_mb(server: Server) -> float:
    return float(psutil.Process(server.process.pid).memory_info().rss / 2**20)
