"""The filters of a run's rows. The address has each one under its widget's key."""

from __future__ import annotations

from functools import partial
from typing import Any, get_args

import streamlit as st

from core.base.texts import NO_LABEL
from core.base.types import FLAG_NAMES
from core.methods.brief_checks import FINDINGS, SHORT
from core.scoring.row_numbers import score_name
from core.store.predictions import (
    ADVOCATES_DISAGREE,
    BY_STEPS,
    CONFIDENTLY_WRONG,
    GENE_ROWS,
    LONGEST,
    MOST_ARGUED,
    MOST_ERRORS,
    MOST_STEPS,
    MOST_TOOLS,
    Order,
    RowFilter,
)
from core.store.runs import Run
from core.ui import links
from core.ui.linked import bind
from core.ui.loaders.records import calls_tools, filter_choices, matching_ids, says_all_or_nothing
from core.ui.row_list import ListedRows, Quantity
from core.ui.widgets import as_text, show_empty

ANY = "any"  # advocate
ROLES = (ANY, "EFFECT", "NULL", "UP", "DOWN")
FLAG_OF_NAME = {name: str(flag) for flag, name in FLAG_NAMES.items()}
BRIEF_CHOICES = {
    f"{role}: {words}": (role, finding) for role in ROLES for finding, words in FINDINGS.items()
}
ARGUING = {str(n): n for n in range(5)}  # none to all of four advocates
STEP_METHODS = ("react", "coordinator", "inspect")  # whose traces are of steps
# The quantity of an order, if it is neither probability.
COUNTED: dict[str, Quantity] = {
    CONFIDENTLY_WRONG: Quantity(
        "wrong by", "The probability of all outcomes except the label, highest first."
    ),
    MOST_ARGUED: Quantity(
        "argued",
        f"How many briefs have {SHORT} characters or more and do more than answer A, B or C.",
        0,
    ),
    ADVOCATES_DISAGREE: Quantity(
        "disagree", "In how many questions both advocates take their own side: 0, 1 or 2.", 0
    ),
    MOST_STEPS: Quantity(
        "steps", "How many tools the agent called; of equally many, the longest trace first.", 0
    ),
    MOST_TOOLS: Quantity("tools", "How many different tools the agent called.", 0),
    MOST_ERRORS: Quantity("errors", "How many of the agent's calls failed.", 0),
    LONGEST: Quantity("length", "The characters of all texts of the trace.", 0),
}
TITLES = {
    **{
        "label": "label",
        "call": "call",
        "flags": "flag",
        "q": "search",
        "p_de": "P(DE)",
        "p_up": "P(up | DE)",
    },
    **{
        "pert": "perturbation",
        "gene": "target gene",
        "symbol": "symbol",
        "gene_rows": "times the gene was measured",
        "split": "split",
    },
    **{
        "brief": "briefs",
        "arguing": "advocates who argued",
        "noted": "only with notes",
        "failed": "only failed",
    },
}
_OFF: dict[str, object] = {  # the value of each inactive filter
    **{
        "label": [],
        "flags": [],
        "q": "",
        "p_de": (0.0, 1.0),
        "p_up": (0.0, 1.0),
        "noted": False,
        "failed": False,
    },
    **dict.fromkeys(("call", "pert", "gene", "symbol", "gene_rows", "split", "brief", "arguing")),
}


def brief_choice(role: str, finding: str) -> str:
    """Return a finding about a role's briefs as the value of the query parameter `brief`."""
    return f"{role}: {FINDINGS[finding]}"


def show_rows_button(label: str, **chosen: str | list[str]) -> None:
    """Show a button that opens the rows with these filters (by key) and no others.

    A link to the current page changes neither its address nor its widgets, so the button sets them.
    """
    key = f"rows-{'-'.join(map(str, chosen.values()))}"
    st.button(label, key=key, on_click=_open_rows, args=(chosen,), type="tertiary")


def _open_rows(chosen: dict[str, str | list[str]]) -> None:
    _take_off_filters()
    # the filters are not on screen
    links.set_parameters({**dict.fromkeys(("row", *_OFF)), **chosen})
    st.session_state.update(chosen, tab="Rows")


def _take_off_filters() -> None:
    for key, value in _OFF.items():
        if st.session_state.get(key, value) != value:
            st.session_state[key] = value


def show_no_match(run: Run) -> None:
    """Show that no row matches the filters, and a button that removes them."""

    def take_off() -> None:
        if st.button("Show all rows", on_click=_take_off_filters, type="tertiary"):
            st.rerun()  # the filters too, which are outside this fragment

    show_empty(f"None of the {run.done:,} rows matches these filters.", take_off)


def choose_rows(run: Run, wanted: RowFilter) -> ListedRows:
    """Show the choice of the rows' order; return the filtered rows in that order."""
    orders: list[Order] = [order for order in get_args(Order) if _applies(run, order)]
    if says_all_or_nothing(run.id):  # whose probabilities do not distinguish rows
        orders.sort(key=lambda order: order not in BY_STEPS)
    order = st.selectbox("Order", orders, **bind("order", orders[0]), label_visibility="collapsed")
    name = score_name(run, "P(up | DE)" if order.startswith("P(up") else "P(DE)")
    return ListedRows(
        matching_ids(run.id, wanted, order), order, COUNTED.get(order, Quantity(name))
    )


def _applies(run: Run, order: Order) -> bool:
    """Return whether a run's rows can be sorted so: rank scores are not wrong, and most runs have
    no advocates or steps."""
    if order == CONFIDENTLY_WRONG:
        return not run.has_rank_scores and filter_choices(run.id)["label"] != [NO_LABEL]
    if order in BY_STEPS:
        return run.method in STEP_METHODS and (order == LONGEST or calls_tools(run.id))
    return order not in (MOST_ARGUED, ADVOCATES_DISAGREE) or run.method == "debate"


def show_active() -> None:
    """Show each active filter as a button that removes it."""
    active = {
        key: value
        for key, off in _OFF.items()
        if (value := st.session_state.get(key, off)) != off and value
    }
    if not active:
        return
    with st.container(horizontal=True, gap="small", key="active-filters"):
        for key, value in active.items():
            take_off = partial(st.session_state.update, {key: _OFF[key]})
            st.button(
                f"{_describe(key, value)} ✕",
                key=f"off-{key}",
                on_click=take_off,
                help="Remove this filter",
            )
        if "q" in active:
            links.to_page(links.SEARCH, "in all runs", phrase=str(active["q"]))


def _describe(key: str, value: object) -> str:
    """Return a filter and its value, as text on a button."""
    if value is True:
        return TITLES[key]
    words = (
        f"{value[0]:g}–{value[1]:g}"
        if isinstance(value, tuple)
        else ", ".join(value)
        if isinstance(value, list)
        else str(value)
    )
    return as_text(f"{TITLES[key]}: {words}")


def show(run: Run) -> RowFilter:
    """Show the filters that apply to a run; return the chosen filter."""
    choices = filter_choices(run.id)
    labelled = choices["label"] != [NO_LABEL]
    labels: list[str] = []
    outcome = ""
    with st.container(key="filters", horizontal=True, vertical_alignment="center", gap="small"):
        if labelled:
            labels = st.multiselect("Label", choices["label"], **bind("label"), **_in_line("label"))
            if not run.has_rank_scores:  # which have no hit and no miss
                outcome = (
                    st.selectbox(
                        "Call",
                        ["hit", "miss"],
                        index=None,
                        **bind("call"),
                        **_in_line("hit or miss"),
                    )
                    or ""
                )
        flags = st.multiselect(
            "Flags",
            [FLAG_NAMES[flag] for flag in choices["flag"] if flag in FLAG_NAMES],
            **bind("flags"),
            **_in_line("flags"),
        )
        text = st.text_input(
            "Search", **bind("q"), type="search", **_in_line("gene, word or phrase")
        )
        with st.popover("More", icon=":material/tune:"):
            wanted = RowFilter(
                labels=tuple(labels),
                outcome=outcome,
                flags=tuple(FLAG_OF_NAME[name] for name in flags),
                text=text or "",
                p_de=st.slider(score_name(run), 0.0, 1.0, (0.0, 1.0), 0.05, **bind("p_de")),
                p_up=st.slider(
                    score_name(run, "P(up | DE)"), 0.0, 1.0, (0.0, 1.0), 0.05, **bind("p_up")
                ),
                pert=_choose_one("Perturbation", choices["pert"], "pert"),
                gene=_choose_one("Target gene", choices["gene"], "gene"),
                naming=_choose_one("Gene's symbol", choices["naming"], "symbol"),
                gene_rows=_choose_one(
                    "How often the gene was measured", list(GENE_ROWS), "gene_rows"
                ),
                split=_choose_one("Split", choices["split"], "split"),
                finding=BRIEF_CHOICES.get(_choose_one("Briefs", list(BRIEF_CHOICES), "brief")),
                arguing=ARGUING.get(
                    _choose_one(
                        f"Advocates with {SHORT} characters or more", list(ARGUING), "arguing"
                    )
                ),
                noted=st.toggle("Only rows with notes", **bind("noted")),
                failed=st.toggle("Only rows that failed", **bind("failed")),
            )
    show_active()
    return wanted


def _in_line(placeholder: str) -> dict[str, Any]:
    """Return the arguments of a filter in the line of filters: an inactive filter shows its
    name."""
    return {"label_visibility": "collapsed", "placeholder": placeholder}


def _choose_one(label: str, options: list[str], key: str) -> str:
    """Show a filter that is inactive by default; return the chosen option, "" if none."""
    chosen = st.selectbox(label, options, index=None, placeholder="any", **bind(key))
    return chosen or ""
