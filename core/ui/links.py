"""Links between pages, and their query parameters. A link names a run by its id, so renaming breaks
no link.

Controls whose values are in links are in `linked`. A line with links confirms an action; it
survives the rerun that shows the change.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlencode

import streamlit as st

from core.base.config import REPOSITORY
from core.runs.jobs.control import Job
from core.store.datasets import Dataset
from core.store.runs import Run
from core.ui.server_workspace import read_workspace

# put before the script of a component with links
SCRIPT = Path(__file__).with_suffix(".js").read_text("utf-8")
ARGUMENTS = "pages/arguments.py"
ASK = "pages/ask.py"
COMPARE = "pages/compare.py"
DATA = "pages/data.py"
EXPERIMENTS = "pages/experiments.py"
FUSE = "pages/fuse.py"
NEIGHBOURS = "pages/neighbours.py"
OVERVIEW = "pages/overview.py"
ROWS = "pages/rows.py"
RUN = "pages/run.py"
SCORES = "pages/scores.py"
SEARCH = "pages/search.py"
SHARE = "pages/share.py"
SPECIES = {"mouse": "Mus musculus", "human": "Homo sapiens"}


_PAGE = "_page_on_screen"  # a session key: fragments run without the page


def begin_page(file: str) -> None:
    """Set the page on screen, by its file in pages/, "" for the first."""
    st.session_state[_PAGE] = file


def address_of_view() -> str:
    """Return the address of the view on screen, relative to any page's."""
    return page_address(st.session_state.get(_PAGE, ""), **read_parameters())


def read_parameters() -> dict[str, list[str]]:
    """Return all query parameters with all their values: both ends of a range are two values of one
    parameter."""
    return {name: st.query_params.get_all(name) for name in st.query_params}


def dataset_and_run() -> dict[str, str]:
    """Return the query parameters that links to all other pages have."""
    return {name: st.query_params[name] for name in ("dataset", "run") if name in st.query_params}


def set_parameters(parameters: Mapping[str, str | Sequence[str] | None]) -> None:
    """Set query parameters, several at once, since each write adds a step to the browser's history;
    remove those whose value is None or empty."""
    changed = {}
    for name, value in parameters.items():
        values = [value] if isinstance(value, str) else list(value or ())
        if values == st.query_params.get_all(name):
            continue
        if values:
            changed[name] = values
        else:
            del st.query_params[name]
    if changed:
        st.query_params.update(changed)


def base_address() -> str:
    """Return the app's public address, without a slash at its end; "" if the settings have none."""
    return read_workspace().settings.base_url.rstrip("/")


def page_address(file: str, **parameters: str | list[str]) -> str:
    """Return the address of a page, by its file in pages/, relative to any other page's: for tables
    whose cells are links."""
    return f"./{file}?{urlencode(parameters, doseq=True)}"


def row_address(run: Run, pair_id: str, **more: str) -> str:
    """Return the address of a row of a run in Rows."""
    return page_address("rows", dataset=run.dataset, run=run.id, row=pair_id, **more)


def is_at_ncbi(dataset: Dataset) -> bool:
    """Return whether NCBI knows the genes of a dataset: those of a simulated one are invented."""
    return dataset.origin != "simulated" and dataset.organism in SPECIES


def ncbi_gene_address(symbol: str, organism: str) -> str:
    """Return the address of a search for a gene in NCBI's Gene; organism: "mouse" or "human"."""
    term = f"{symbol}[sym] AND {SPECIES[organism]}[orgn]"
    return f"https://www.ncbi.nlm.nih.gov/gene/?{urlencode({'term': term})}"


@cache
def has_page(page: str) -> bool:
    """Return whether the app has a page, by its file: its feature may be gone."""
    return (REPOSITORY / page).exists()


def show_link(page: str, **options: Any) -> None:
    """Show a link to a page, nothing where there is no such page. options: of `st.page_link`."""
    if has_page(page):
        st.page_link(page, **options)


def to_page(page: str, label: str, icon: str | None = None, **parameters: str | list[str]) -> None:
    """Show a link to a page about the chosen dataset and run."""
    show_link(
        page,
        label=label,
        icon=icon,
        query_params={**dataset_and_run(), **parameters},
        width="content",
    )


def to_rows(run: Run, label: str, *, icon: str | None = None, **filters: str | list[str]) -> None:
    """Show a link to a run's rows, filtered by query parameters; of a reading to those of the run
    that it reads."""
    params = {
        "dataset": run.dataset,
        "run": run.parents[0] if run.is_reading else run.id,
        **filters,
    }
    show_link(ROWS, label=label, icon=icon, query_params=params, width="content")


def to_row(run: Run, pair_id: str, label: str) -> None:
    """Show a link to one row of a run."""
    to_rows(run, label, row=pair_id)


def to_submit(run: Run, label: str) -> None:
    """Show a link to the package of a run on Share; for a fusion, with its arithmetic added to the
    traces."""
    more = {"fusion_trace": "true"} if run.method == "fusion" else {}
    query = {"dataset": run.dataset, "run": run.id, "tab": "Package a run", **more}
    show_link(SHARE, label=label, query_params=query, width="content")


def to_report(run: Run, baseline: Run, label: str) -> None:
    """Show a link to a report on Share that compares a run with a baseline."""
    query = {"dataset": run.dataset, "run": run.id, "runs": [run.id, baseline.id]}
    show_link(
        SHARE, label=label, icon=":material/description:", query_params=query, width="content"
    )


def to_run_page(run: Run, label: str) -> None:
    """Show a link to the page Run, with a run watched there."""
    show_link(
        RUN,
        label=label,
        query_params={"dataset": run.dataset, "run": run.id, "watched": run.id},
        width="content",
    )


def to_job(job: Job, label: str) -> None:
    """Show a link to the page that shows a job."""
    view = {
        **({"dataset": st.query_params["dataset"]} if "dataset" in st.query_params else {}),
        **job.view,
    }
    show_link(f"pages/{job.page}.py", label=label, query_params=view, width="content")


def to_symbol(role: str, symbol: str, label: str) -> None:
    """Show a link to the page of one perturbation (role "pert") or target gene ("gene")."""
    page = "pages/perturbation.py" if role == "pert" else "pages/gene.py"
    show_link(page, label=label, query_params={**dataset_and_run(), "name": symbol})


def to_dataset(dataset: str) -> None:
    """Show a link to a dataset (id) in Overview."""
    show_link(
        OVERVIEW, label="Open the dataset", query_params={"dataset": dataset}, width="content"
    )


def to_changes() -> None:
    """Show a link to the list of all changes."""
    to_data("Changes", tab="History")


def to_data(label: str, **parameters: str) -> None:
    """Show a link to the Data page."""
    to_page(DATA, label, **parameters)


_DONE = "_done"  # session key: the confirmation for the page's next run
_SHOWN = "_confirmation"  # session key: the confirmation on screen


def confirm(text: str, *show_links: Callable[[], object]) -> NoReturn:
    """Rerun the page, which then confirms an action in one line with these links."""
    st.session_state[_DONE] = (text, show_links)
    st.rerun()


def repeat_confirmation() -> None:
    """Let the page's next run repeat the confirmation: the page reruns without an action of the
    user."""
    if _SHOWN in st.session_state:
        st.session_state.setdefault(_DONE, st.session_state[_SHOWN])


def show_confirmation() -> None:
    """Show the confirmation of the last action; nothing if the page runs for another reason.

    The line floats above the page, so that nothing else moves.
    """
    with st.container(
        key="confirmation", horizontal=True, vertical_alignment="center", gap="medium"
    ):
        st.session_state.pop(_SHOWN, None)
        if _DONE not in st.session_state:
            return
        text, show_links = st.session_state[_SHOWN] = st.session_state.pop(_DONE)
        st.html(f'<span role="status">✓ {html.escape(text)}</span>', width="content")
        for show_link in show_links:
            show_link()
        # any click reruns the page without the line
        st.button("✕", type="tertiary", key="dismiss", help="Dismiss")
