"""The router's half of every page: sidebar, links to dataset and run, errors in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import streamlit as st

from core.actions.workspace import Workspace
from core.errors import DeskError, StoreBusy
from core.store.datasets import Dataset
from core.store.runs import Run
from core.ui.shared import links, loaders
from core.ui.shared.widgets import as_text, draw_waiting

_VIEW = "_view"  # session key; there only while the router runs
_ASKED_FOR = "_asked_for"  # the page that a visitor opened before the server knew its router
STYLE = Path(__file__).with_name("style.css")


@dataclass(frozen=True, slots=True)
class PageContext:
    """What the sidebar chose. dataset and run are None where there is none; runs are the dataset's."""

    workspace: Workspace
    dataset: Dataset | None
    runs: Sequence[Run]
    run: Run | None


def route(pages: Mapping[str, Sequence[Any]]) -> None:
    """Run the app: navigation, sidebar, then the page. All that app.py does."""
    st.set_page_config(page_title="PerturbDesk", page_icon="🧬", layout="wide", initial_sidebar_state=240)
    page = st.navigation({title: list(group) for title, group in pages.items()}, position="hidden")
    if _ASKED_FOR in st.session_state:
        asked, params = st.session_state.pop(_ASKED_FOR)
        st.switch_page(asked, query_params=params)
    st.html(STYLE)
    with _explained():
        loaders.refresh(*([loaders.read_linked_rows] if page.url_path == "debates" else []))
        st.session_state[_VIEW] = _sidebar(pages)
        try:
            page.run()
        finally:
            draw_waiting()
            st.session_state.pop(_VIEW, None)


def enter(page_file: str) -> PageContext:
    """The first line of every page: what the sidebar chose.

    A server that has not run its router yet would run a page alone, without the sidebar and whatever guards it: then
    the visitor is sent to the entry point, and from there back to the page asked for.
    """
    if _VIEW not in st.session_state:
        st.session_state[_ASKED_FOR] = (f"pages/{Path(page_file).name}", links.parameters())
        st.switch_page("app.py")
    view: PageContext = st.session_state[_VIEW]
    return view


@contextmanager
def _explained() -> Iterator[None]:
    """Foreseen errors in words, where the page would have been."""
    try:
        yield
    except StoreBusy as error:
        st.warning(f"The store is busy: {as_text(error)}", icon=":material/hourglass_top:")
        st.button("Try again")
    except DeskError as error:
        st.error(as_text(error), icon=":material/error:")


def fragment(draw: Callable[[], None], every_s: float | None = None) -> Callable[[], None]:
    """A part of a page that runs by itself when one of its widgets changes, and every so many seconds; foreseen errors in
    words there too."""

    @st.fragment(run_every=every_s)
    @wraps(draw)
    def explained() -> None:
        with _explained():
            draw()

    return explained


def _sidebar(pages: Mapping[str, Sequence[Any]]) -> PageContext:
    datasets = loaders.all_datasets()
    runs = loaders.all_runs()
    dataset, run = _resolve(datasets, runs)
    of_dataset = [r for r in runs if dataset is not None and r.dataset == dataset.id]
    kept = {name: it.id for name, it in (("dataset", dataset), ("run", run)) if it is not None}
    links.put_all({"dataset": None, "run": None, **kept})
    with st.sidebar:
        _navigation(pages, kept)
        _choose(
            "Dataset", "dataset", [d.id for d in datasets], dataset.id if dataset else None, {d.id: _title(d) for d in datasets}
        )
        _choose("Run", "run", [r.id for r in of_dataset], run.id if run else None, {r.id: r.name for r in of_dataset})
        settings = loaders.workspace().settings
        place = settings.workspace.name or str(settings.workspace)
        suffix = ", read-only" if settings.read_only else ""
        st.caption(f"Workspace {as_text(place)}{suffix}", help=as_text(settings.workspace))
    return PageContext(loaders.workspace(), dataset, of_dataset, run)


def _navigation(pages: Mapping[str, Sequence[Any]], kept: Mapping[str, str]) -> None:
    """Links that carry dataset and run along; Streamlit's own drop them, and each parameter set anew is a step back more."""
    with st.container(gap="xsmall"):
        for title, group in pages.items():
            if title:
                st.caption(title)
            for page in group:
                if page.visibility != "hidden":
                    st.page_link(page, query_params=kept, width="stretch")
    st.divider()


def _title(dataset: Dataset) -> str:
    return f"{dataset.name} (demo)" if dataset.origin == "simulated" else dataset.name


def _resolve(datasets: Sequence[Dataset], runs: Sequence[Run]) -> tuple[Dataset | None, Run | None]:
    """Dataset and run from the link, else from this session (navigation drops parameters), else the default."""
    wanted_run = st.query_params.get("run")
    wanted_dataset = st.query_params.get("dataset")
    if wanted_run is None and wanted_dataset is None:
        wanted_run, wanted_dataset = st.session_state.get("_run"), st.session_state.get("_dataset")
    run = next((r for r in runs if wanted_run in (r.id, r.name)), None)
    if wanted_run is not None and run is None:
        st.warning("The run that this link names is not in this workspace; showing another.")
    chosen = run.dataset if run else wanted_dataset
    dataset = next((d for d in datasets if chosen in (d.id, d.name)), None) or loaders.default_dataset()
    if run is None and dataset is not None:
        run = _first_to_show([r for r in runs if r.dataset == dataset.id])
    st.session_state["_run"] = run.id if run else None
    st.session_state["_dataset"] = dataset.id if dataset else None
    return dataset, run


def _first_to_show(runs: Sequence[Run]) -> Run | None:
    """The latest debate on labelled rows, since there is most to read in it; else the latest debate; else the latest run."""
    known = loaders.labelled_counts().set_index("run")["labelled"]
    return max(reversed(runs), key=lambda run: (run.method == "debate", known.get(run.id, 0) > 0), default=None)


def _choose(label: str, name: str, options: list[str], value: str | None, titles: Mapping[str, str]) -> None:
    key = f"choose_{name}"
    st.session_state[key] = value

    def changed() -> None:
        st.query_params.from_dict({name: st.session_state[key]})
        st.session_state.pop("_run", None)

    st.selectbox(
        label,
        options,
        key=key,
        format_func=lambda option: titles.get(option, option),
        on_change=changed,
        disabled=not options,
        placeholder="none yet",
    )
