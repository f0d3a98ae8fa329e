"""Earlier questions, each with a link."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.features.asking.actions import SCRIPTED
from core.store.runs import Run
from core.ui import links, tables
from core.ui.run_choice import method_text
from core.ui.widgets import show_empty


def show_asked(asked: Sequence[Run]) -> None:
    """Show the dataset's ad-hoc runs, latest first."""
    st.markdown("### Asked before")
    if not asked:
        show_empty("No questions yet. Type a perturbation and a target gene above, and press Ask.")
        return
    rows = [
        {
            "asked": run.created_at,
            "question": run.name.removeprefix("asked "),
            "method": method_text(run.method),
            "model": f"{run.model} (simulated)" if run.model == SCRIPTED else run.model,
            "state": "failed" if run.failed else run.status,
            "tokens": run.tokens,
            "open": links.page_address("ask", dataset=run.dataset, asked=run.id),
        }
        for run in asked
    ]
    columns = {
        "asked": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm"),
        "open": st.column_config.LinkColumn(display_text="open"),
        "tokens": st.column_config.NumberColumn(format="localized"),
    }
    tables.show_table(
        pd.DataFrame(rows), "what was asked", columns, height="auto", alt="What was asked before"
    )
