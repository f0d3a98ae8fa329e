"""Numbers to be read first, side by side: each with its name above, and what belongs to it below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.ui.shared.widgets import as_text


@dataclass(frozen=True, slots=True)
class Number:
    """A number, as text. help: what it means. below: Markdown, as its interval and how many rows it is from."""

    name: str
    value: str
    help: str = ""
    below: str = ""


def show_numbers(key: str, numbers: Iterable[Number], widths: Sequence[float] | int) -> list[DeltaGenerator]:
    """Show numbers in the first of the columns that `widths` make; the columns, for what else belongs there.

    They are Markdown, styled by the container's class: a browser shows text at once, and Streamlit's own metric a third
    of a second after the first other element whose script it has to load.
    """
    with st.container(key=f"numbers-{key}"):
        columns = st.columns(widths)
    for column, number in zip(columns, numbers, strict=False):
        parts = (as_text(number.name), f"**{as_text(number.value)}**", number.below)
        column.markdown("  \n".join(part for part in parts if part), help=number.help or None)
    return list(columns)
