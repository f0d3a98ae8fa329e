"""How a page shows a result: its sentence first, then scope, caveats, figure and tables."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.base.result import Result
from core.plots.results import captioned
from core.ui import tables
from core.ui.widgets import as_text, show_figure


def show_result(result: Result, subject: str, key: str) -> None:
    """Show a result. subject: the run or runs that it is about. key: tells it apart from others on
    the page."""
    st.markdown(f"**{as_text(result.sentence)}**")
    shown = captioned(result, subject)
    if result.scope and shown.chart is None:  # else it is the figure's caption
        st.caption(as_text(result.scope))
    for caveat in result.caveats:
        st.caption(f":orange[⚠] {as_text(caveat)}")
    if shown.chart is not None:
        show_figure(shown.chart, shown.table, key, shown.title, result.scope)
    for i, table in enumerate(each for each in result.tables() if each.rows):
        st.markdown(as_text(table.title))
        tables.show_table(pd.DataFrame(table.texts()), f"{key}-{i}")
