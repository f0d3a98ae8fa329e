"""Tables without their index, as wide as their text, with downloads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from core.ui import figure_menu

LONG = 65  # characters of a text that takes several lines
MEASURED_ROWS = 500  # rows of a longer table, whose texts are much alike
TALL_PX = 62  # a row of three lines; Streamlit breaks lines in rows above 4rem alone
COUNT = st.column_config.NumberColumn(format="localized")
OPEN = st.column_config.LinkColumn(display_text="open")


def show_table(
    table: pd.DataFrame | Styler,
    name: str | None,
    columns: Mapping[str, Any] | None = None,
    *,
    key: str | None = None,
    **options: Any,
) -> Any:
    """Show a table without its index, with downloads as CSV and Parquet; return the value of
    `st.dataframe`.

    name: of the table on its page, and in its file name; None if it has other downloads or is part
    of a dossier. columns: its column_config; other columns have whole numbers with separators, and
    long texts in several lines. Further options are those of `st.dataframe`.
    """
    frame: pd.DataFrame = cast(Any, table).data if isinstance(table, Styler) else table
    texts = frame.drop(columns=[*(columns or {})], errors="ignore").head(MEASURED_ROWS)
    if texts.map(lambda value: len(str(value)) > LONG).to_numpy().any():
        options = {"row_height": TALL_PX} | options
    counts: dict[Any, Any] = dict.fromkeys(frame.select_dtypes("integer"), COUNT)
    with st.container(gap=None, key=f"table-{name}" if name else None):
        shown = st.dataframe(
            table,
            hide_index=True,
            key=key,
            column_config=counts | dict(columns or {}),
            **{"height": "content", "placeholder": "–"} | options,
        )
        if name:
            figure_menu.show_parquet_button(frame, f"table-{name}", figure_menu.file_name_of(name))
    return shown
