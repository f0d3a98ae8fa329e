"""What a person takes along of a figure: its table as CSV and Parquet, and itself as PNG, SVG, PDF and HTML."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.actions.export import encode, encode_for_spreadsheets
from core.plots import printed

_DATASET = "_dataset_name"  # a session key: fragments and downloads run without the page


def name_dataset(name: str) -> None:
    """Say which dataset the page shows, for the headings and the names of its files."""
    st.session_state[_DATASET] = name


def show_menu(chart: go.Figure, table: pd.DataFrame, name: str, title: str, caption: str) -> None:
    """Show a figure's table and the buttons that download both; name: of the figure on its page."""
    dataset = str(st.session_state.get(_DATASET, ""))
    parts = caption.split(" · ")
    heading = caption if dataset in parts or not dataset else f"{dataset} · {caption}"
    file = printed.file_name(dataset, *(part for part in parts[:1] if part != dataset), title)
    st.dataframe(table, hide_index=True)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("Table", width="content")
        _show_button("CSV", f"{file}.csv", f"csv-{name}", partial(encode_for_spreadsheets, table))
        _show_button("Parquet", f"{file}.parquet", f"parquet-{name}", partial(encode, table, "parquet"))
    reason = printed.why_no_images()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("Figure", width="content")
        for form in printed.FORMS:
            if form == "html" or not reason:
                build = partial(printed.encode, chart, form, title, heading)
                _show_button(form.upper(), f"{file}.{form}", f"{form}-{name}", build)
    if reason:
        st.caption(f"{reason}.")


def _show_button(label: str, file: str, key: str, build: Callable[[], bytes]) -> None:
    """A button whose file is built when it is pressed, which runs nothing else of the page."""
    st.download_button(label, build, file, key=key, on_click="ignore", type="tertiary")
