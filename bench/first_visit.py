"""What a person waits for at the first visit of a fresh server, and a second person after them, beside a bare page.

The bare page has two headings and a chart; Streamlit serves it as it is. A server is fresh when its health page answers.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser

from tests.ui.serving import HARDENED, serving

STARTS = 3  # of each server, in turn
BARE = """import streamlit as st
st.title("A title")
st.header("A chart")
st.plotly_chart({"data": [{"x": [1, 2, 3], "y": [1, 3, 2]}]})
"""
OURS = {
    "title": "[data-testid=stMain] h2",
    "verdict": "[data-testid=stMain] .st-key-verdict strong",
    "chart": "[data-testid=stMain] .st-key-figure-standings .field s",
}
ITS = {"title": "h1", "chart": "[data-testid=stPlotlyChart] .xtick text"}
# Resolves with the times of the first frames in which each element is there, since the navigation began.
SHOWN = """selectors => Promise.all(Object.entries(selectors).map(([name, selector]) => new Promise((resolve, reject) => {
  const look = () => {
    if (document.querySelector(selector)) resolve([name, performance.now()]);
    else if (performance.now() > 120_000) reject(new Error(`${selector}: not there after two minutes`));
    else requestAnimationFrame(look);
  };
  look();
}))).then(Object.fromEntries)"""


def measure(browser: Browser, workspace: Path, folder: Path) -> dict[str, Any]:
    """The ms to title, verdict and chart of a fresh and of a warm server, medians over the starts, and their ratios to the bare page's."""
    bare = folder / "bare.py"
    bare.write_text(BARE)
    plain = ("-m", "streamlit", "run", str(bare))
    visits = {}
    for _ in range(STARTS):
        for whose, start, selectors in (("ours", HARDENED, OURS), ("bare", plain, ITS)):
            with serving(workspace, start) as server:
                for when in ("fresh", "warm"):
                    found = _visit(browser, server.url(), selectors)
                    visits.setdefault(f"{when} {whose}", []).append(found)
    ms = {
        of: {name: median(each[name] for each in found) for name in found[0]}
        for of, found in visits.items()
    }
    return {
        "first_visit_ms": ms,
        "first_visit_times_bare": {
            when: {name: ms[f"{when} ours"][name] / ms[f"{when} bare"][name] for name in ITS}
            for when in ("fresh", "warm")
        },
    }


def _visit(browser: Browser, address: str, selectors: dict[str, str]) -> dict[str, float]:
    """The visit of somebody new, whose browser has kept nothing."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    try:
        page = context.new_page()
        page.set_default_timeout(180_000)
        page.goto(address, wait_until="commit")
        times = page.evaluate(SHOWN, selectors)
        page.wait_for_function(
            "() => document.querySelector('[data-test-script-state=notRunning]')"
        )
        return times
    finally:
        context.close()
