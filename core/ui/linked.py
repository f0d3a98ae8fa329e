"""Controls whose values are in the address, so that a copied link shows the same screen elsewhere.

Every control is made in one of four ways: with the arguments of `bind`; by `choose_one` or
`choose_several`, if it chooses among things that have ids; as a table under the key that
`select_rows` takes too; or under a key that begins as one of CARRIED_BY or NOT_CARRIED does. Values
set by custom components use `keep_shares` and `keep_one`. Defaults are not in the address.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import RerunException, get_script_run_ctx

from core.ui import links

# Beginnings of keys of controls whose parameter has another name: dataset and run, row, run in
# Rows, watched.
CARRIED_BY = ("choose_", "pert-", "gene-", "runs", "started-runs")
# Beginnings of keys of controls that are in no link: addresses, since a link could make this
# machine send its key to a server of somebody else; settings for resuming a run; a file of one's
# own and what is said of it; what is being written; what the person who deletes something chooses;
# and what is inside an expander, which is folded again.
NOT_CARRIED = (
    *("endpoint", "address-", "cells_address-"),
    "calls-",
    *("upload", "role-", "where-", "dataset-", "check_file", "prompt_file", "tool_files", "spec-"),
    *("note", "name-", "score-", "preset_name"),
    *("preset_gone", "space_gone", "undo_"),
    "call-",
)
# Parameters without a control on the view: the router's, and the row while another tab is open.
_UNTAKEN = ("dataset", "run", "row", "with")
# Session keys: what the view is of, the controls that it showed, what it could not make sense of in
# its link, defaults, and the last value of each bound control beside what the address held for it.
_VIEW, _SHOWN, _UNKNOWN, _DEFAULTS, _WRITTEN = (
    "_view",
    "_shown",
    "_unknown",
    "_defaults",
    "_written",
)
_is_inside: ContextVar[bool] = ContextVar("is_inside", default=False)

Widget = Callable[..., Any]


def bind(name: str, default: Any = None) -> dict[str, Any]:
    """Return the arguments that bind a widget's value to the query parameter `name`, which is also
    the key.

    default: the widget's, if it depends on other controls or on the run. A value that nobody chose
    follows it; a chosen value stays in the address.
    """
    _controls()[name] = True
    _follow_default(name, default)
    # Set again a value that changed while the address did not, so that Streamlit writes it there:
    # the browser loses a control's binding to the address when the control moves because one above
    # it appears or disappears.
    value, in_address = st.session_state.get(_WRITTEN, {}).get(name, (None, None))
    if in_address == st.query_params.get_all(name) and value != st.session_state.get(name, value):
        st.session_state[name] = st.session_state[name]
    return {"key": name, "bind": "query-params"}


def choose_one(
    widget: Widget,
    name: str,
    label: str,
    titles: Mapping[str, str],
    default: str | None = None,
    **options: Any,
) -> str | None:
    """Show a choice among ids by their titles and return the chosen id, which is in the query
    parameter `name`.

    widget: st.selectbox, st.pills, or one of a column's. A link may have a title instead of an id.
    """
    key = f"id-{name}"
    if _is_new(name, key):
        st.session_state[key] = next(iter(_read_ids(name, titles)), default)
    _follow_default(key, default)
    value = st.session_state[key]
    # Set it in every run: a popover that is opened for the first time shows the value set by the
    # latest run.
    st.session_state[key] = value if value in (None, *titles) else default
    chosen = widget(label, list(titles), format_func=titles.__getitem__, key=key, **options)
    links.set_parameters({name: None if chosen == default else chosen})
    return default if chosen is None else str(chosen)


def choose_several(
    widget: Widget,
    name: str,
    label: str,
    titles: Mapping[str, str],
    default: Sequence[str] = (),
    **options: Any,
) -> list[str]:
    """Show a choice of several ids by their titles and return the chosen ids, which are in the
    query parameter `name`.

    widget, and titles in a link: as in `choose_one`. An empty choice with a non-empty default is an
    empty value in the link.
    """
    key = f"id-{name}"
    if _is_new(name, key):
        found = _read_ids(name, titles)[: options.get("max_selections")]
        st.session_state[key] = found or (
            [] if st.query_params.get_all(name) == [""] else list(default)
        )
    _follow_default(key, list(default))
    # set again, as in `choose_one`
    st.session_state[key] = [value for value in st.session_state[key] if value in titles]
    chosen = list(widget(label, list(titles), format_func=titles.__getitem__, key=key, **options))
    links.set_parameters({name: None if chosen == list(default) else chosen or ""})
    return chosen


def keep_one(name: str, titles: Mapping[str, str], default: str) -> str:
    """Return the id chosen in a custom component, as `choose_one` does: the component sets the
    session's `id-NAME`."""
    return str(choose_one(lambda *_, key, **__: st.session_state[key], name, "", titles, default))


def keep_shares(defaults: Mapping[str, float]) -> dict[str, float]:
    """Return the numbers from 0 to 1 in the query parameters of these names.

    A component of this app sets them in the session under the same names.
    """
    for name, default in defaults.items():
        if _is_new(name, name):
            st.session_state[name] = _read_share(name, default)
        _follow_default(name, default)
    found: dict[str, float] = {name: st.session_state[name] for name in defaults}
    links.set_parameters(
        {
            name: None if found[name] == default else f"{found[name]:g}"
            for name, default in defaults.items()
        }
    )
    return found


def _read_share(name: str, default: float) -> float:
    """Return the number from 0 to 1 in the query parameter `name`; `describe_unknown` reports other
    values."""
    try:
        value = float(st.query_params.get(name, default))
    except ValueError:
        return default
    return value if 0 <= value <= 1 else default


def read_ids(name: str, ids: Sequence[str]) -> list[str]:
    """Return the given ids that the query parameter `name` has, for choices made without a control
    of Streamlit."""
    _controls()[name] = False
    return _read_ids(name, dict.fromkeys(ids, ""))


def select_rows(key: str, name: str, ids: Sequence[str]) -> list[int]:
    """Return the rows (positions) selected in the table `key`, which is drawn after this; `name`
    has their ids.

    At first they are those of the opened link.
    """
    is_opened = name not in _controls()
    _controls()[name] = False
    if is_opened or key not in st.session_state:
        named = _read_ids(name, dict.fromkeys(ids, "")) if is_opened else []
        rows = [ids.index(found) for found in named]
        if rows or key in st.session_state:
            st.session_state[key] = {"selection": {"rows": rows, "columns": [], "cells": []}}
    found = st.session_state.get(key, {}).get("selection", {}).get("rows", [])
    selected = [row for row in found if row < len(ids)]
    links.set_parameters({name: [ids[row] for row in selected]})
    return selected


def _read_ids(name: str, titles: Mapping[str, str]) -> list[str]:
    """Return the ids in the query parameter `name`, as ids or titles; `describe_unknown` reports
    other values."""
    ids = dict(zip(titles.values(), titles, strict=True)) | dict(zip(titles, titles, strict=True))
    found = []
    for value in filter(None, st.query_params.get_all(name)):
        if value in ids:
            found.append(ids[value])
        else:
            st.session_state.setdefault(_UNKNOWN, {})[name, value] = None
    return found


def _is_new(name: str, key: str) -> bool:
    """Return whether a control reads its value from the address because it is new on the view."""
    known = name in _controls() and key in st.session_state
    if not known:  # a value in the address was chosen, even if it is the default of another view
        st.session_state.setdefault(_DEFAULTS, {}).pop(key, None)
    _controls()[name] = False
    return not known


def _follow_default(key: str, default: Any) -> None:
    """Move a value that nobody chose to the changed default; set a chosen value again."""
    defaults = st.session_state.setdefault(_DEFAULTS, {})
    before = defaults.setdefault(key, default)
    if before != default and key in st.session_state:
        st.session_state[key] = (
            default if st.session_state[key] == before else st.session_state[key]
        )
    defaults[key] = default


def _controls() -> dict[str, bool]:
    """Return the names of the controls on this view, and whether Streamlit binds each to its query
    parameter."""
    found: dict[str, bool] = st.session_state.setdefault(_SHOWN, {})
    return found


def names_of_ids() -> list[str]:
    """Return the query parameters of a dataset: all that are not bound to a widget."""
    return [name for name in st.query_params if not _controls().get(name)]


def begin_view(*view: str | None) -> dict[str, list[str]]:
    """Begin a run of a view (page, dataset and run); return the parameters of its link if it was
    just opened."""
    context = get_script_run_ctx()
    if st.session_state.get(_VIEW) == view and not (context and context.is_history_navigation):
        return {}
    st.session_state.update({_VIEW: view, _SHOWN: {}, _UNKNOWN: {}, _WRITTEN: {}})
    return links.read_parameters()


@contextmanager
def note_at_end() -> Iterator[None]:
    """Record the values of controls and address when the outermost of these blocks ends, for `bind`
    in the next run.

    An interrupted run records nothing: it may not have drawn the changed control.
    """
    token, is_whole = _is_inside.set(True), True
    try:
        yield
    except RerunException:
        is_whole = False
        raise
    finally:
        _is_inside.reset(token)
        if is_whole and not _is_inside.get():
            st.session_state[_WRITTEN] = {
                name: (st.session_state[name], st.query_params.get_all(name))
                for name, is_bound in _controls().items()
                if is_bound and name in st.session_state
            }


def describe_unknown(opened: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a sentence for each value of the opened link that the page could not use; it shows
    defaults instead."""
    found: dict[tuple[str, str], None] = st.session_state.pop(_UNKNOWN, {})
    unheard = []
    for name, values in opened.items():
        for value in _untaken_values(name, values):
            found[name, value] = None
        if name not in _controls() and name not in _UNTAKEN:
            unheard.append(f"This link sets {name}, which this page does not have; it is ignored.")
    said = []
    for name, value in found:
        said.append(f"This link sets {name} to “{value}”, which is unknown here and ignored.")
    return said + unheard


def _untaken_values(name: str, values: Sequence[str]) -> list[str]:
    """Return the values of a bound widget in the link that it did not accept: Streamlit removes
    them silently."""
    if name not in st.session_state:  # chosen by id, or not on this page
        return []
    value = st.session_state[name]
    taken = value if isinstance(value, list | tuple) else [value]
    now = {*st.query_params.get_all(name), *map(_number_or_text, taken)}
    return [
        text for text in values if text and text not in now and _number_or_text(text) not in now
    ]


def _number_or_text(value: object) -> float | str:
    """Return a number for what reads as one, since a link may write 0.5 as 0.50; else the text, in
    small letters for a switch."""
    try:
        return float(str(value))
    except ValueError:
        return str(value).lower() if isinstance(value, bool) else str(value)
