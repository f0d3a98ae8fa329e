"""Common parts of all pages: the router, the choices in the sidebar, and errors in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial, wraps
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import streamlit as st

from core.base import log
from core.base.errors import DeskError, NothingCovered, StoreBusy
from core.base.feature import Tab, resolve
from core.base.system_errors import explain
from core.features import features
from core.runs.workspace import Workspace
from core.store.datasets import Dataset
from core.store.runs import Run
from core.ui import linked, links, server_workspace, sidebar, sign_in, widgets
from core.ui.background import background
from core.ui.links import repeat_confirmation, show_confirmation
from core.ui.loaders.cache import refresh
from core.ui.loaders.records import all_datasets, predicting_runs, settle_runs
from core.ui.widgets import as_text, draw_figures_last, show_empty

PRODUCT = "PerturbDesk"
_LONGEST_ADDRESS = 300  # characters, in the log
_CONTEXT = "_context"  # session key; set only while the router runs
_ASK_EVERY_S = 2.0  # seconds between two checks for a result
_REQUESTED = "_requested"  # session key: the page opened before the server had run its router
STYLE = Path(__file__).with_name("style.css")


@dataclass(frozen=True, slots=True)
class PageContext:
    """The workspace, and the sidebar's choice of dataset and run (None if there is none). runs:
    those of the dataset."""

    workspace: Workspace
    dataset: Dataset | None
    runs: Sequence[Run]
    run: Run | None

    @property
    def read_only(self) -> bool:
        """Whether nothing may be changed here."""
        return self.workspace.settings.read_only

    def without_asked(self) -> PageContext:
        """Return the context without ad-hoc runs, which have one row each: they are on the page
        Ask."""
        return replace(self, runs=[run for run in self.runs if not run.is_asked])


def route(pages: Mapping[str, Sequence[Any]]) -> None:
    """Run the app: the navigation, the sidebar, then the page."""
    st.set_page_config(page_title=PRODUCT, page_icon="🧬", layout="wide", initial_sidebar_state=240)
    page = st.navigation(
        {"": [each for group in pages.values() for each in group]}, position="hidden"
    )
    if (workspace := _open_workspace()) is None:
        return
    set_title(page.title)
    if _REQUESTED in st.session_state:
        requested, params = st.session_state.pop(_REQUESTED)
        st.switch_page(requested, query_params=params)
    st.html(STYLE)
    remarks = st.container()
    if page.visibility == "visible":  # before the sidebar, which takes longer; others name a gene
        st.container(key=f"title-{page.url_path}").markdown(f"## {page.title}")
    with background().pause(), _record_unexpected_errors(), explain_errors():
        refresh()
        settle_runs()
        choice = sidebar.choose(page.url_path, all_datasets(), predicting_runs())
        if choice.warning:
            st.warning(choice.warning)
        links.set_parameters({"dataset": None, "run": None, **choice.parameters})
        sidebar.show(PRODUCT, workspace, pages, page, choice)
        context = st.session_state[_CONTEXT] = PageContext(
            workspace, choice.dataset, sidebar.runs_of(choice.dataset), choice.run
        )
        widgets.begin_page(context.workspace, context.dataset, context.run)
        links.begin_page(page.url_path)
        opened = linked.begin_view(
            page.url_path,
            context.dataset.id if context.dataset else None,
            context.run.id if context.run else None,
        )
        show_confirmation()
        if recovered := context.workspace.store.recovered:
            remarks.caption(f":orange[⚠ {as_text(recovered)}]")
        with draw_figures_last():
            try:
                with linked.note_at_end():
                    page.run()
            finally:
                st.session_state.pop(_CONTEXT, None)
                for sentence in linked.describe_unknown(opened):
                    remarks.caption(f":orange[⚠ {as_text(sentence)}]")


def _open_workspace() -> Workspace | None:
    """Return the workspace with the permissions of the person at the browser.

    Without any, show the sign-in or the error and return None.
    """
    with _record_unexpected_errors(), explain_errors():
        if sign_in.refuse_unprotected(server_workspace.read_workspace().settings):
            return None
        if (workspace := sign_in.session_workspace()) is not None:
            return workspace
        set_title("Sign in")
        st.html(STYLE)
        sign_in.show_sign_in()
    return None


def tabs_of(page: str, context: PageContext) -> dict[str, Callable[[], None]]:
    """Return the tabs that features bring to a page, by title."""
    tabs = (tab for feature in features().values() for tab in feature.tabs if tab.page == page)
    parts: dict[str, list[Tab]] = {}
    for tab in sorted(tabs, key=attrgetter("order")):
        parts.setdefault(tab.title, []).append(tab)
    return {title: partial(_show_parts, each, context) for title, each in parts.items()}


def _show_parts(parts: Sequence[Tab], context: PageContext) -> None:
    for part in parts:
        if part.heading:
            st.markdown(f"### {part.heading}")
        resolve(part.show)(context)


def set_title(*parts: str) -> None:
    """Set the title of the browser's tab, the most specific part first."""
    st.set_page_config(page_title=" · ".join((*parts, PRODUCT)))


def open_page(page_file: str) -> PageContext:
    """Return the context of a page; each page calls it first.

    A server that has not run its router yet runs a page alone, without sidebar and access checks.
    Then this redirects to app.py, which redirects back to the requested page.
    """
    if _CONTEXT not in st.session_state:
        st.session_state[_REQUESTED] = (f"pages/{Path(page_file).name}", links.read_parameters())
        st.switch_page("app.py")
    context: PageContext = st.session_state[_CONTEXT]
    return context


def show_error(error: DeskError) -> None:
    """Show an expected error in words, and log it with its traceback."""
    log.record_error(_address(), error)
    st.error(as_text(log.without_secrets(str(error))), icon=":material/error:")


@contextmanager
def explain_errors() -> Iterator[None]:
    """Show an expected error of the block in words instead of the block's elements.

    Every page and every fragment runs inside this block.
    """
    try:
        yield
    except StoreBusy as error:
        log.record_error(_address(), error)
        st.warning(f"The store is busy: {as_text(error)}", icon=":material/hourglass_top:")
        st.button("Try again", key=f"try-again-{id(error)}")  # any click reruns the page
    except NothingCovered as error:
        show_empty(f"{as_text(error)}.")
    except DeskError as error:
        show_error(error)
    except (OSError, MemoryError) as error:
        log.record_error(_address(), error)  # with the place that raised it
        show_error(explain(error))


@contextmanager
def _record_unexpected_errors() -> Iterator[None]:
    """Log an unexpected error of the block, and let Streamlit show it."""
    try:
        yield
    except Exception as error:
        log.record_error(_address(), error)
        raise


def _address() -> str:
    """Return the page and the query parameters of the view on screen, for the log."""
    path = urlsplit(st.context.url or "").path or "/"
    return f"page {path}?{urlencode(links.read_parameters(), doseq=True)}"[:_LONGEST_ADDRESS]


def fragment(draw: Callable[[], None], every_s: float | None = None) -> Callable[[], None]:
    """Make a part of a page that reruns alone when one of its widgets changes and every `every_s`
    seconds.

    Expected errors are shown as on a page. Automatic reruns do not pause background computations,
    since the user did nothing.
    """

    @st.fragment(run_every=every_s)
    @wraps(draw)
    def run() -> None:
        with (
            nullcontext() if every_s else background().pause(),
            _record_unexpected_errors(),
            explain_errors(),
        ):
            # it runs without its page, which would have checked and read these
            if _CONTEXT not in st.session_state:
                sign_in.draw_anew_if_changed()
                refresh()
            with linked.note_at_end():
                draw()

    return run


def draw_page_anew() -> None:
    """Rerun the page automatically: the confirmation of the last action stays."""
    repeat_confirmation()
    st.rerun()


def draw_until_ready(draw: Callable[[], None], ready: Callable[[], bool]) -> None:
    """Draw a part of a page, and redraw it every few seconds until it is complete."""
    if ready():
        draw()
        return

    def draw_again() -> None:
        draw()
        if ready():
            draw_page_anew()

    fragment(draw_again, every_s=_ASK_EVERY_S)()
