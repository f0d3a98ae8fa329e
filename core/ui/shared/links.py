"""Addresses of views. A link carries the run's id, not its name, so that renaming breaks none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st

from core.store.runs import Run

DEBATES = "pages/debates.py"
DATA = "pages/data.py"
NEIGHBOURS = "pages/neighbours.py"
SUBMIT = "pages/submit.py"


def parameters() -> dict[str, list[str]]:
    """All query parameters; one that stands twice, such as both ends of a range, keeps both values."""
    return {name: st.query_params.get_all(name) for name in st.query_params}


def current(**more: str) -> str:
    """The address of what is on screen, as a colleague would open it, with what the page chose by itself."""
    parts = urlsplit(st.context.url or "")
    query = urlencode({**parameters(), **more}, doseq=True)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))


def to_rows(run: Run, label: str, **filters: str | list[str]) -> None:
    """A link to a run's rows in Debates, narrowed by the filters' query parameters."""
    params = {"dataset": run.dataset, "run": run.id, **filters}
    st.page_link(DEBATES, label=label, query_params=params)


def to_row(run: Run, pair_id: str, label: str) -> None:
    """A link to one row of a run in Debates."""
    to_rows(run, label, row=pair_id)


def to_submit(run: Run, label: str) -> None:
    """A link to a run as a submission; what a fusion leaves out of its traces is added there."""
    more = {"fusion_trace": "true"} if run.method == "fusion" else {}
    st.page_link(SUBMIT, label=label, query_params={"dataset": run.dataset, "run": run.id, **more})


def to_neighbours(dataset: str, pair_id: str, label: str) -> None:
    """A link to one row's neighbours."""
    st.page_link(NEIGHBOURS, label=label, query_params={**kept_parameters(), "dataset": dataset, "row": pair_id})


def put(name: str, value: str | Sequence[str] | None) -> None:
    """Write one query parameter, or take it away where None or empty."""
    put_all({name: value})


def put_all(parameters: Mapping[str, str | Sequence[str] | None]) -> None:
    """Write several query parameters at once: each write is one more step for the browser's "back"."""
    wanted = {name: [value] if isinstance(value, str) else list(value or ()) for name, value in parameters.items()}
    changed = {name: values for name, values in wanted.items() if values != st.query_params.get_all(name)}
    for name in [name for name, values in changed.items() if not values]:
        del st.query_params[name]
    if any(changed.values()):
        st.query_params.update({name: values for name, values in changed.items() if values})


def address(page: str, **parameters: str | list[str]) -> str:
    """A page's address relative to any other page's, for tables whose cells are links."""
    return f"./{page}?{urlencode(parameters, doseq=True)}"


def to_symbol(role: str, symbol: str, label: str) -> None:
    """A link to the page of one perturbation ("pert") or target gene ("gene")."""
    page = "pages/perturbation.py" if role == "pert" else "pages/gene.py"
    st.page_link(page, label=label, query_params={**kept_parameters(), "name": symbol})


def kept_parameters() -> dict[str, str]:
    """What every page's address carries along: dataset and run."""
    return {name: st.query_params[name] for name in ("dataset", "run") if name in st.query_params}
