"""Every page with every one of its tabs, by address: what is measured at each size, asked of axe and photographed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.base.config import REPOSITORY
from core.runs.workspace import Workspace

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDTHS = (900, 1280, 1920)  # a small laptop, a laptop, a projector
HEIGHT, TALLEST = 900, 4000  # px
REST_MS = 400  # until figures have followed the window
SYMBOL_PAGES = ("perturbation", "gene")  # reached by links only
PAGES = tuple(sorted({page.stem for page in (REPOSITORY / "pages").glob("*.py")} - {*SYMBOL_PAGES}))
# The query parameter that names the open tab, and the tabs.
TABS = {
    "rows": ("tab", ("Rows", "Audit")),
    "scores": (
        "part",
        (
            "Slices",
            "Baselines",
            "Genes and perturbations",
            "Top of the list",
            "Curves",
            "Calibration",
        ),
    ),
    "arguments": ("tab", ("Rubrics", "Label", "Worth", "Findings")),
    "targets": ("tab", ("Table", "Training")),
    "share": ("tab", ("Report", "Walk-throughs", "Package a run", "Check a file")),
    "experiments": ("tab", ("Start", "Results", "Ledger")),
    "data": ("tab", ("Import", "Spaces and leaks", "Runs and notes", "History")),
}


@dataclass(frozen=True)
class View:
    """One page with one of its tabs open; tab is "" on a page without tabs."""

    page: str
    tab: str = ""

    def __str__(self) -> str:
        """Its name in a test and in the name of a picture, such as "breakdown-curves"."""
        return "-".join((self.page, *self.tab.lower().split()))

    def address(self, symbol: str) -> tuple[str, dict[str, str]]:
        """(path, query parameters); `symbol` is what the pages of one gene show."""
        path = "" if self.page == "overview" else self.page
        if self == SEARCHED:
            return path, {"phrase": "expression"}
        if self.page in SYMBOL_PAGES:
            return path, {"name": symbol}
        return path, {TABS[self.page][0]: self.tab} if self.tab else {}


def _all_views() -> Iterator[View]:
    for page in (*PAGES, *SYMBOL_PAGES):
        _, tabs = TABS.get(page, ("", ("",)))
        yield from (View(page, tab) for tab in tabs)


VIEWS = tuple(_all_views())
SEARCHED = View("search", "found")  # no tab, but Search once it has something to search for


def symbol_of(workspace: Workspace) -> str:
    """A symbol that is both a perturbation and a target gene where there is one, else the first perturbation."""
    with workspace.store.read() as db:
        rows = db.execute(
            "SELECT pert FROM pair ORDER BY pert NOT IN (SELECT gene FROM pair), position LIMIT 1"
        ).fetchall()
    return str(rows[0][0])


def fit_window(page: Page, width: int) -> None:
    """Give the window a width, and a height in which the whole page is seen (at most `TALLEST`)."""
    for highest in (HEIGHT, TALLEST):
        whole = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        page.set_viewport_size({"width": width, "height": min(max(HEIGHT, whole), highest)})
        page.wait_for_timeout(REST_MS)
