"""What a server does before its first visitor, while it is open already: it imports what pages
need, and loads what the first page shows."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

from core.base.config import REPOSITORY
from core.base.feature import resolve
from core.base.log import LOGGER, record_error
from core.features import features, hooks
from core.ui.background import background


def begin() -> None:
    """Prepare the server in a thread of its own."""
    threading.Thread(target=prepare, name="prepare", daemon=True).start()


def prepare() -> None:
    """Import and load what Overview needs; then, while no page runs, import what others do."""
    try:
        importlib.import_module("core.ui.shell")
        for module in modules_of("overview"):
            importlib.import_module(module)
        for load in hooks("first_page"):
            load()
        resolve("plotly.graph_objects:Figure")
        background().ask("modules of pages", _import_other_pages)
    except Exception as error:  # noqa: BLE001
        # the thread has no caller to report to; the first visitor sees it on the page
        record_error("preparing the server", error)


def _import_other_pages(progress: Callable[[float], object]) -> None:
    pages = [page.name for feature in features().values() for page in feature.pages]
    modules = list(dict.fromkeys(module for page in pages for module in modules_of(page)))
    for done, module in enumerate(modules):
        importlib.import_module(module)
        progress(done / len(modules))
    LOGGER.info("prepared: all pages are imported")


def modules_of(page: str) -> Iterator[str]:
    """Yield the names of the modules of core that a page imports; of a package's page, none."""
    file = REPOSITORY / "pages" / f"{page}.py"
    if not file.is_file():
        return
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("core"):
            yield str(node.module)
            for name in node.names:
                module = f"{node.module}.{name.name}"
                with suppress(ModuleNotFoundError):  # where the parent is no package
                    if importlib.util.find_spec(module):
                        yield module
