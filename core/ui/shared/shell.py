"""What every page has in common: the router, the sidebar with dataset and run, and errors explained in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import streamlit as st

from core import log
from core.actions.workspace import Workspace
from core.errors import DeskError, NothingCovered, StoreBusy
from core.store.datasets import Dataset
from core.store.runs import Run
from core.system_errors import explain
from core.ui.shared import figure_menu, linked, links, loaders, server_workspace, sign_in, text_size
from core.ui.shared.background import background
from core.ui.shared.confirmation import repeat_confirmation, show_confirmation
from core.ui.shared.widgets import as_text, draw_figures_last, show_empty

PRODUCT = "PerturbDesk"
PURPOSE = "Read what agents argued about perturbed genes, and see whether the numbers hold."
_LONGEST_ADDRESS = 300  # characters, in the log
_CONTEXT = "_context"  # session key; set only while the router runs
_ASK_EVERY_S = 2.0  # for a result that is being computed
_REQUESTED = "_requested"  # session key: the page that a visitor opened before the server had run its router
STYLE = Path(__file__).with_name("style.css")


@dataclass(frozen=True, slots=True)
class PageContext:
    """The workspace, and what is chosen in the sidebar: dataset and run (None if there is none); runs are the dataset's."""

    workspace: Workspace
    dataset: Dataset | None
    runs: Sequence[Run]
    run: Run | None

    def without_asked(self) -> PageContext:
        """The context without ad-hoc runs, which have one row each: they are on the page Ask."""
        return replace(self, runs=[run for run in self.runs if not run.is_asked])


def route(pages: Mapping[str, Sequence[Any]]) -> None:
    """Run the app: the navigation, the sidebar, then the page."""
    st.set_page_config(page_title=PRODUCT, page_icon="🧬", layout="wide", initial_sidebar_state=240)
    page = st.navigation({title: list(group) for title, group in pages.items()}, position="hidden")
    if (workspace := _open_workspace()) is None:
        return
    set_title(page.title)
    if _REQUESTED in st.session_state:
        requested, params = st.session_state.pop(_REQUESTED)
        st.switch_page(requested, query_params=params)
    st.html(STYLE)
    text_size.apply()
    with background().pause(), _record_unexpected_errors(), explain_errors():
        loaders.refresh()
        context = st.session_state[_CONTEXT] = _sidebar(workspace, pages)
        figure_menu.begin_page(context.workspace, context.dataset, context.run)
        opened = linked.begin_view(page.url_path, *(found.id if found else None for found in (context.dataset, context.run)))
        show_confirmation()
        remarks = st.container()
        with draw_figures_last():
            try:
                with linked.note_at_end():
                    page.run()
            finally:
                st.session_state.pop(_CONTEXT, None)
                for sentence in linked.describe_unknown(opened):
                    remarks.caption(f":orange[⚠ {as_text(sentence)}]")


def _open_workspace() -> Workspace | None:
    """The workspace as the person at the browser may use it; None, with the sign-in or the error on screen, if they may not."""
    with _record_unexpected_errors(), explain_errors():
        if sign_in.refuse_unprotected(server_workspace.read_workspace().settings):
            return None
        if (workspace := sign_in.session_workspace()) is not None:
            return workspace
        set_title("Sign in")
        st.html(STYLE)
        sign_in.show_sign_in()
    return None


def set_title(*parts: str) -> None:
    """Set the title of the browser's tab: what is on the page, the most particular first."""
    st.set_page_config(page_title=" · ".join((*parts, PRODUCT)))


def open_page(page_file: str) -> PageContext:
    """The context of a page; each page calls it first.

    A server that has not run its router yet runs a page alone, without the sidebar and without anything that guards it.
    Then this sends the visitor to app.py, which leads back to the requested page.
    """
    if _CONTEXT not in st.session_state:
        st.session_state[_REQUESTED] = (f"pages/{Path(page_file).name}", links.read_parameters())
        st.switch_page("app.py")
    context: PageContext = st.session_state[_CONTEXT]
    return context


def show_error(error: DeskError) -> None:
    """Show an expected error in words, and record it with its traceback."""
    log.record_error(_address(), error)
    st.error(as_text(log.without_secrets(str(error))), icon=":material/error:")


@contextmanager
def explain_errors() -> Iterator[None]:
    """Show an expected error of the block in words, in the place of what the block would have drawn.

    Every page and every fragment runs inside this block.
    """
    try:
        yield
    except StoreBusy as error:
        log.record_error(_address(), error)
        st.warning(f"The store is busy: {as_text(error)}", icon=":material/hourglass_top:")
        st.button("Try again", key=f"try-again-{id(error)}")  # any click runs the page again
    except NothingCovered as error:
        show_empty(f"{as_text(error)}.")
    except DeskError as error:
        show_error(error)
    except (OSError, MemoryError) as error:
        log.record_error(_address(), error)  # with where it was raised
        show_error(explain(error))


@contextmanager
def _record_unexpected_errors() -> Iterator[None]:
    """Record an error of the block that is not explained, and leave it to Streamlit to show."""
    try:
        yield
    except Exception as error:
        log.record_error(_address(), error)
        raise


def _address() -> str:
    """The page and the query parameters of the view on screen, for the log."""
    path = urlsplit(st.context.url or "").path or "/"
    return f"page {path}?{urlencode(links.read_parameters(), doseq=True)}"[:_LONGEST_ADDRESS]


def fragment(draw: Callable[[], None], every_s: float | None = None) -> Callable[[], None]:
    """Make a part of a page that runs again by itself, when one of its widgets changes and every `every_s` seconds.

    Its expected errors are explained like those of a page. What runs by itself does not keep the background waiting: nobody
    has done anything.
    """

    @st.fragment(run_every=every_s)
    @wraps(draw)
    def run() -> None:
        with nullcontext() if every_s else background().pause(), _record_unexpected_errors(), explain_errors():
            if _CONTEXT not in st.session_state:  # it runs without its page, which would have asked and read
                sign_in.draw_anew_if_changed()
                loaders.refresh()
            with linked.note_at_end():
                draw()

    return run


def draw_page_anew() -> None:
    """Run the page again, by itself: what it says about the last action stays."""
    repeat_confirmation()
    st.rerun()


def draw_until_ready(draw: Callable[[], None], ready: Callable[[], bool]) -> None:
    """Draw a part of a page, and if it is not ready again every few seconds, until the page is drawn with all of it."""
    if ready():
        draw()
        return

    def draw_again() -> None:
        draw()
        if ready():
            draw_page_anew()

    fragment(draw_again, every_s=_ASK_EVERY_S)()


def _sidebar(workspace: Workspace, pages: Mapping[str, Sequence[Any]]) -> PageContext:
    datasets = loaders.all_datasets()
    runs = loaders.predicting_runs()
    loaders.settle_runs()
    dataset, run = _choose_dataset_and_run(datasets, runs)
    runs_of_dataset = [r for r in runs if dataset is not None and r.dataset == dataset.id]
    listed = [r for r in runs_of_dataset if not r.is_asked or r == run]  # ad-hoc runs are listed on the page Ask
    parameters = {name: record.id for name, record in (("dataset", dataset), ("run", run)) if record is not None}
    links.set_parameters({"dataset": None, "run": None, **parameters})
    with st.sidebar:
        st.markdown(f"**{PRODUCT}**")
        st.caption(PURPOSE)
        _show_navigation(pages, parameters)
        _show_choice("Dataset", "dataset", dataset.id if dataset else None, {d.id: _title(d) for d in datasets})
        _show_choice("Run", "run", run.id if run else None, {r.id: r.name for r in listed})
        text_size.show_switch()
        settings = workspace.settings
        place = settings.workspace.name or str(settings.workspace)
        suffix = ", read-only" if settings.read_only else ""
        st.caption(f"Workspace {as_text(place)}{suffix}", help=as_text(settings.workspace))
        sign_in.show_person(workspace)
    return PageContext(workspace, dataset, runs_of_dataset, run)


def _show_navigation(pages: Mapping[str, Sequence[Any]], parameters: Mapping[str, str]) -> None:
    """Show links that carry dataset and run. Streamlit's own drop them, and setting each again adds a step for "back"."""
    with st.container(gap="xsmall"):
        for title, group in pages.items():
            if title:
                st.caption(title)
            for page in group:
                if page.visibility != "hidden":
                    st.page_link(page, query_params=parameters, width="stretch")
    st.divider()


def _title(dataset: Dataset) -> str:
    return f"{dataset.name} (demo)" if dataset.origin == "simulated" else dataset.name


def _choose_dataset_and_run(datasets: Sequence[Dataset], runs: Sequence[Run]) -> tuple[Dataset | None, Run | None]:
    """Dataset and run of the link, else those last shown in this session, else the default ones."""
    wanted_run = st.query_params.get("run")
    wanted_dataset = st.query_params.get("dataset")
    if wanted_run is None and wanted_dataset is None:
        wanted_run, wanted_dataset = st.session_state.get("_run"), st.session_state.get("_dataset")
    run = next((r for r in runs if wanted_run in (r.id, r.name)), None)
    if wanted_run is not None and run is None:
        is_reading = any(wanted_run in (each.id, each.name) for each in loaders.all_runs())
        what = "reads the texts of another run and predicts nothing" if is_reading else "is not in this workspace"
        st.warning(f"The run that this link names {what}; showing another.")
    chosen = run.dataset if run else wanted_dataset
    dataset = next((d for d in datasets if chosen in (d.id, d.name)), None) or loaders.default_dataset()
    if run is None and dataset is not None:
        run = _first_to_show([r for r in runs if r.dataset == dataset.id and not r.is_asked])
    st.session_state["_run"] = run.id if run else None
    st.session_state["_dataset"] = dataset.id if dataset else None
    return dataset, run


def _first_to_show(runs: Sequence[Run]) -> Run | None:
    """The latest debate on labelled rows, which has the most to read; else the latest debate; else the latest run."""
    labelled = loaders.labelled_counts().set_index("run")["labelled"]
    return max(reversed(runs), key=lambda run: (run.method == "debate", labelled.get(run.id, 0) > 0), default=None)


def _show_choice(label: str, name: str, chosen: str | None, titles: Mapping[str, str]) -> None:
    """Show the choice of a dataset or run by id; another run keeps what else the address holds, another dataset does not."""
    key = f"choose_{name}"
    st.session_state[key] = chosen

    def set_address() -> None:
        of_dataset = dict.fromkeys(linked.names_of_ids()) if name == "dataset" else {}
        links.set_parameters({**of_dataset, name: st.session_state[key]})
        st.session_state.pop("_run", None)

    st.selectbox(
        label,
        list(titles),
        key=f"choose_{name}",
        format_func=lambda option: titles.get(option, option),
        on_change=set_address,
        disabled=not titles,
        placeholder="none yet",
    )
