"""Draws what takes long once the hand rests: not at each step of a slider."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from core.ui.what_if.fusion_controls import FusionChoice

REST_MS = 700  # without a move, before something is drawn again
T = TypeVar("T")
_DRAWN, _RESTED = "_drawn_at_rest", "_rested"  # session keys, each followed by a name
# Asks for one more run of its fragment, once no new weights have come for a while.
_JS = """export default ({ data, parentElement, setTriggerValue }) => {
  clearTimeout(parentElement.rest);
  if (data.waiting) parentElement.rest = setTimeout(() => setTriggerValue("rested", true), data.rest_ms);
};"""
_rest = st.components.v2.component("rest", html="<div></div>", js=_JS)


def draw_at_rest(
    name: str, of: tuple[Any, ...], choice: FusionChoice, make: Callable[[], T], show: Callable[[T], object]
) -> None:
    """Show what `make` returned when the hand last rested; at once what it returns now if `of` is another than then.

    Call it in a fragment of its own (`shell.fragment`), which runs again when the hand rests. name: of the drawing.
    """
    drawn, rested = f"{_DRAWN}_{name}", f"{_RESTED}_{name}"
    weights = (choice.knn, choice.w_de, choice.w_dir, choice.reference, choice.references, choice.by_support)
    kept = st.session_state.get(drawn)
    if st.session_state.pop(rested, False) or kept is None or kept[0] != of:
        kept = st.session_state[drawn] = (of, weights, make())

    def note_rest() -> None:
        st.session_state[rested] = True

    _rest(
        key=f"rest-{name}",
        data={"waiting": kept[1] != weights, "at": str(weights), "rest_ms": REST_MS},
        on_rested_change=note_rest,
    )
    show(kept[2])
