"""Controls whose values the address carries, so that a copied link shows the same screen elsewhere.

Every control is made in one of three ways: with the arguments of `linked`; by `choose_one` or `choose_several`, if it chooses
among things that have ids; or under a key that begins as one of CARRIED_BY or NOT_CARRIED does. Defaults stay out of the
address.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.ui.shared import links

# What the key of a control begins with that a parameter of another name carries.
CARRIED_BY = {"choose_": "dataset and run", "pert-": "row", "gene-": "row"}
# What the key of a control begins with that no link carries, and why.
NOT_CARRIED = {
    "endpoint": "whoever opens a link would have this machine send its key to a server that somebody else chose",
    "address-": "as endpoint",
    "budget-": "belongs to the run, and is stored when it goes on",
    "calls-": "as budget-",
    "upload": "a file of one's own",
    "check_file": "as upload",
    "prompt_file": "as upload",
    "tool_files": "as upload",
    "note": "being written; stored when it is saved",
    "name-": "as note",
    "score-": "as note",
    "preset_name": "as note",
    "preset_gone": "what goes for good is chosen by whoever removes it",
    "space_gone": "as preset_gone",
    "undo_": "as preset_gone",
    "call-": "inside of what is folded; what is folded is so again",
}
# Parameters that a view may have without a control that takes them: the router's, and the row while another tab is open.
_UNTAKEN = ("dataset", "run", "row", "with")
# Session keys: what the view is of, the controls that it showed, what it could not make sense of in its link, and defaults.
_VIEW, _SHOWN, _UNKNOWN, _DEFAULTS = "_view", "_shown", "_unknown", "_defaults"

Widget = Callable[..., Any]


def linked(name: str, default: Any = None) -> dict[str, Any]:
    """The arguments that let the query parameter `name`, which is also the key, carry a widget's value.

    default: the widget's, if it depends on other controls or on the run. A value that nobody chose follows it, and one that
    was chosen goes on standing in the address.
    """
    _shown()[name] = True
    _follow_default(name, default)
    return {"key": name, "bind": "query-params"}


def choose_one(
    widget: Widget, name: str, label: str, titles: Mapping[str, str], default: str | None = None, **options: Any
) -> str | None:
    """Show a choice among ids by their titles, which the query parameter `name` carries by id; the chosen id.

    widget: st.selectbox, st.pills, or one of a column's. A link may hold a title in the place of an id.
    """
    key = f"id-{name}"
    if _is_new(name, key):
        st.session_state[key] = next(iter(_read_ids(name, titles)), default)
    _follow_default(key, default)
    if st.session_state[key] not in (None, *titles):
        st.session_state[key] = default
    chosen = widget(label, list(titles), format_func=lambda option: titles[option], key=key, **options)
    links.set_parameter(name, None if chosen == default else chosen)
    return default if chosen is None else str(chosen)


def choose_several(
    widget: Widget, name: str, label: str, titles: Mapping[str, str], default: Sequence[str] = (), **options: Any
) -> list[str]:
    """Show a choice of several ids by their titles, which the query parameter `name` carries by id; the chosen ids.

    widget, and titles in a link: as in `choose_one`. None chosen, where the default is some, is an empty value in the link.
    """
    key = f"id-{name}"
    if _is_new(name, key):
        found = _read_ids(name, titles)[: options.get("max_selections")]
        st.session_state[key] = found or ([] if st.query_params.get_all(name) == [""] else list(default))
    _follow_default(key, list(default))
    if any(value not in titles for value in st.session_state[key]):
        st.session_state[key] = [value for value in st.session_state[key] if value in titles]
    chosen = list(widget(label, list(titles), format_func=lambda option: titles[option], key=key, **options))
    links.set_parameter(name, None if chosen == list(default) else chosen or "")
    return chosen


def read_ids(name: str, ids: Sequence[str]) -> list[str]:
    """Those of the ids that the query parameter `name` holds, for what is chosen otherwise than with a control of Streamlit's."""
    _shown()[name] = False
    return _read_ids(name, dict.fromkeys(ids, ""))


def select_rows(key: str, name: str, ids: Sequence[str]) -> None:
    """Select the rows of the table `key` whose ids the query parameter `name` holds, if its link was just opened."""
    if name in _shown():
        return
    _shown()[name] = False
    rows = [ids.index(found) for found in _read_ids(name, dict.fromkeys(ids, ""))]
    if rows or key in st.session_state:
        st.session_state[key] = {"selection": {"rows": rows, "columns": [], "cells": []}}


def _read_ids(name: str, titles: Mapping[str, str]) -> list[str]:
    """The ids that the query parameter `name` holds, by themselves or by title; others are left to `describe_unknown`."""
    ids = {title: key for key, title in titles.items()} | {key: key for key in titles}
    wanted = [value for value in st.query_params.get_all(name) if value]
    st.session_state.setdefault(_UNKNOWN, {}).update({(name, value): None for value in wanted if value not in ids})
    return [ids[value] for value in wanted if value in ids]


def _is_new(name: str, key: str) -> bool:
    """Whether a control takes its value from the address, since the view did not show it before."""
    known = name in _shown() and key in st.session_state
    _shown()[name] = False
    return not known


def _follow_default(key: str, default: Any) -> None:
    """Move a value that nobody chose to a default that is another one than before; state again one that was chosen."""
    defaults = st.session_state.setdefault(_DEFAULTS, {})
    before = defaults.setdefault(key, default)
    if before != default and key in st.session_state:
        st.session_state[key] = default if st.session_state[key] == before else st.session_state[key]
    defaults[key] = default


def _shown() -> dict[str, bool]:
    """The names of the controls on this view, and whether Streamlit binds each to its query parameter."""
    found: dict[str, bool] = st.session_state.setdefault(_SHOWN, {})
    return found


def names_of_ids() -> list[str]:
    """The query parameters that are about one dataset: all that are not bound to a widget."""
    return [name for name in st.query_params if not _shown().get(name)]


def begin_view(*view: str | None) -> dict[str, list[str]]:
    """Begin a run of what `view` names, a page, a dataset and a run; the parameters of its link if it was just opened."""
    context = get_script_run_ctx()
    if st.session_state.get(_VIEW) == view and not (context and context.is_history_navigation):
        return {}
    st.session_state.update({_VIEW: view, _SHOWN: {}, _UNKNOWN: {}})
    return links.read_parameters()


def describe_unknown(opened: Mapping[str, Sequence[str]]) -> list[str]:
    """Say in a sentence each what the page could not take from the link that was opened: it shows defaults instead."""
    found: dict[tuple[str, str], None] = st.session_state.pop(_UNKNOWN, {})
    found |= {(name, value): None for name, values in opened.items() for value in _untaken_values(name, values)}
    unheard = [name for name in opened if name not in _shown() and name not in _UNTAKEN]
    return [
        *(f"This link sets {name} to “{value}”, which is not known here: left out." for name, value in found),
        *(f"This link sets {name}, which nothing on this page has: left out." for name in unheard),
    ]


def _untaken_values(name: str, values: Sequence[str]) -> list[str]:
    """The values of a bound widget in the link that it did not take: Streamlit removes them without a word."""
    if name not in st.session_state:  # chosen by id, or not on this page
        return []
    value = st.session_state[name]
    taken = value if isinstance(value, list | tuple) else [value]
    now = {*st.query_params.get_all(name), *map(_number_or_text, taken)}
    return [text for text in values if text and text not in now and _number_or_text(text) not in now]


def _number_or_text(value: object) -> float | str:
    """A number for what reads as one, since a link may write 0.5 as 0.50; else the text, in small letters for a switch."""
    try:
        return float(str(value))
    except ValueError:
        return str(value).lower() if isinstance(value, bool) else str(value)
