"""Published numbers: which of them the files of this workspace reproduce."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from core.actions.reproduction import find_sources, reproduce_numbers
from core.experiments.published.registry import load_registry
from core.experiments.published.reproduce import Reproduced
from core.report.figures.published import of_numbers
from core.ui.shared import sidebar, tables
from core.ui.shared.background import Result, background
from core.ui.shared.loaders.cache import cache_by
from core.ui.shared.server_workspace import read_workspace
from core.ui.shared.shell import PageContext, draw_until_ready
from core.ui.shared.widgets import as_text, show_captioned

_ABOUT = (
    "All published numbers that can be computed from the files of this workspace, with the functions of pages and commands. "
    "Nothing is saved. `perturbdesk reproduce` prints the same."
)
Found = tuple[Reproduced, ...]
MOST_NAMED = 4  # most numbers that are listed for one reason


@dataclass(slots=True)
class _Progress:
    """The progress of a computation."""

    share: float = 0.0
    name: str = ""


@st.cache_resource(show_spinner=False)
def _requested_computations() -> dict[str, _Progress]:
    """Return the computations that visitors of this server requested, by the content of the files."""
    return {}


@cache_by("datasets", "runs", "spaces", entries=2)
def _key() -> str:
    return repr(find_sources(read_workspace()))


def show(context: PageContext) -> None:
    """Show the published numbers, beside ours once somebody has requested them."""
    st.caption(_ABOUT)
    key, asked = _key(), _requested_computations()
    if key not in asked:
        if st.button("Compute the published numbers anew", icon=":material/replay:"):
            asked[key] = _Progress()
            sidebar.note_used("published")
            st.rerun()
        _show_published()
        return
    whose = context.dataset.name if context.dataset is not None else ""
    draw_until_ready(lambda: _draw(key, whose), lambda: _ask(key).ready)


def _ask(key: str) -> Result:
    workspace, state = read_workspace(), _requested_computations()[key]

    def compute(give_way: Callable[[float], object]) -> Found:
        def report(share: float, name: str) -> None:
            state.share, state.name = share, name
            give_way(share)

        return reproduce_numbers(workspace, progress=report)

    return background().ask(("published", key), compute)


def _draw(key: str, whose: str) -> None:
    found, state = _ask(key), _requested_computations()[key]
    if not found.ready:
        st.progress(state.share, as_text(f"computing {state.name}" if state.name else "waiting to start"))
        return
    if found.value is None:
        st.error("The published numbers could not be computed: the log says why.")
        return
    figure = of_numbers(found.value, whose)
    st.markdown(as_text(figure.sentence))
    show_captioned(figure, "published")
    _show_reasons(figure.table)
    st.markdown("**All numbers**")
    _show_table(figure.table)


def _show_reasons(table: pd.DataFrame) -> None:
    """Show why numbers differ or cannot be computed, each reason once with its numbers."""
    for verdict, title in (("differs", "Differences"), ("not computed", "Numbers that cannot be computed here")):
        part = table[table["verdict"] == verdict]
        if part.empty:
            continue
        st.markdown(f"**{title}**")
        lines = [f"- {as_text(_list_numbers(of_one))}: {as_text(why)}" for why, of_one in part.groupby("why", sort=False)]
        st.markdown("\n".join(lines))


def _list_numbers(table: pd.DataFrame) -> str:
    """Return the groups of numbers, each with its numbers in words, or their count if there are many."""
    of_groups = table.groupby("group", sort=False)["number"]
    if len(table) > MOST_NAMED:
        return "; ".join(f"{group} ({n})" for group, n in of_groups.size().items())
    return "; ".join(f"{group}: {' and '.join(numbers)}" for group, numbers in of_groups)


def _show_table(table: pd.DataFrame) -> None:
    number = st.column_config.NumberColumn
    columns: dict[str, Any] = {name: number(format="%.4g") for name in ("published", "ours", "tolerance")}
    columns["name"] = _name_column()
    tables.show_table(
        table[["group", "number", "published", "ours", "tolerance", "verdict", "name"]], "published numbers", columns, height=560
    )


def _show_published() -> None:
    numbers = load_registry().numbers
    table = pd.DataFrame(
        [(each.title, each.words, each.published, each.tolerance, each.source, each.name) for each in numbers],
        columns=["group", "number", "published", "tolerance", "source", "name"],
    )
    columns: dict[str, Any] = {name: st.column_config.NumberColumn(format="%.4g") for name in ("published", "tolerance")}
    columns["name"] = _name_column()
    tables.show_table(table, "published numbers", columns, height=560)


def _name_column() -> Any:
    return st.column_config.TextColumn("for the command", help="`perturbdesk reproduce NAME` computes this number alone.")
