"""`make screenshots`: a picture of every page and tab, at each width and in each theme, of the demo or of a workspace.

Fails, after the last picture, if any page showed an error box, wrote an error to the console or asked another machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from core.base.config import Settings
from core.features.demo.actions import make_demo
from core.plots import drawing
from core.runs.workspace import Workspace, open_workspace
from tests.ui.conftest import WATCH, settle
from tests.ui.serving import Server, serving, started_browser
from tests.ui.views import SEARCHED, VIEWS, WIDTHS, fit_window, symbol_of
from tests.ui.watch import Watch

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ERRORS = "[data-testid=stException], [data-testid=stAlertContentError]"


def main() -> None:
    """Take the pictures, print their paths, and then what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--workspace", type=Path, help="the simulated demo if it is left out")
    parser.add_argument(
        "--run",
        default="",
        help="the run on the pages, by name; the app's choice if it is left out",
    )
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    faults = []
    with (
        _workspace(arguments.workspace) as workspace,
        started_browser() as browser,
        serving(workspace.settings.workspace) as server,
    ):
        for colours in drawing.SURFACES:
            faults += _take_all(browser, server, symbol_of(workspace), colours, arguments)
    if faults:
        sys.exit("\n".join(faults))


@contextmanager
def _workspace(folder: Path | None) -> Iterator[Workspace]:
    if folder is not None:
        yield open_workspace(Settings(workspace=folder))
        return
    with tempfile.TemporaryDirectory() as demo:
        workspace = open_workspace(Settings(workspace=Path(demo)))
        make_demo(workspace)
        yield workspace


def _take_all(
    browser: Browser, server: Server, symbol: str, colours: str, arguments: argparse.Namespace
) -> list[str]:
    """Take the pictures of one theme and print their paths; what went wrong, a line each."""
    context = browser.new_context(color_scheme=colours)
    context.add_init_script(WATCH)
    page = context.new_page()
    watch, faults = Watch(), []
    watch.over(page, server)
    for view in (*VIEWS, SEARCHED):
        path, parameters = view.address(symbol)
        page.goto(
            server.url(path, **parameters, **({"run": arguments.run} if arguments.run else {}))
        )
        settle(page)
        for width in WIDTHS:
            fit_window(page, width)
            file = arguments.folder / f"{view}-{colours}-{width}.png"
            page.screenshot(path=file)
            print(file, flush=True)
        shown = page.locator(ERRORS).all_inner_texts()
        faults += [
            f"{view}, {colours}: {fault}" for fault in (*shown, *watch.outside, *watch.errors)
        ]
        watch.outside.clear()
        watch.errors.clear()
    context.close()
    return faults


if __name__ == "__main__":
    main()
