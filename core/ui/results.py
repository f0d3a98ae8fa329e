"""How a page shows a result: its sentence first, then scope, caveats, figure and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from core.base.result import Result
from core.plots.captioned import captioned
from core.ui import figure_menu
from core.ui.widgets import as_text, show_captioned


def show_result(result: Result, subject: str, key: str) -> None:
    """Show a result. subject: the run or runs that it is about. key: tells it apart from others on
    the page."""
    st.markdown(f"**{as_text(result.sentence)}**")
    shown = captioned(result, subject)
    if result.scope and shown.drawn is None:  # else it is the figure's caption
        st.caption(as_text(result.scope))
    for caveat in result.caveats:
        st.caption(f":orange[⚠] {as_text(caveat)}")
    if shown.drawn is not None:
        show_captioned(replace(shown, caption=result.scope, sentence=""), key)
    for i, table in enumerate(each for each in result.tables() if each.rows):
        st.markdown(as_text(table.title))
        show_table(pd.DataFrame(table.texts()), f"{key}-{i}")


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
