"""Ledger: every hypothesis with its verdict, the scores over time, and how to add to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.experiments.ledger import LedgerLine
from core.experiments.ledger_words import ledger_table, summary_sentences
from core.report.figures import ledger as figures
from core.ui.experiments import ledger_forms
from core.ui.shared import loaders, tables
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import as_text, show_captioned, show_empty

_HELP = {
    "p": "Two-sided, of a difference of 0.",
    "p (Holm)": "Corrected for all results of the same source and dataset, and for all comparisons of runs made on it. Claims "
    "below 0.05 include a wrong one with a probability of 5%.",
    "p (BH)": "Benjamini and Hochberg: on average, 5% of the claims below 0.05 are wrong.",
    "detectable": "The smallest true difference detectable with 80% power.",
}


def show(context: PageContext) -> None:
    """Show the ledger of the workspace for all datasets, and the forms that add to it."""
    lines = loaders.ledger_lines()
    if not lines:
        can_write = not context.workspace.settings.read_only
        words = "No hypothesis is registered yet: register one below before its runs are made"
        show_empty(f"{words}, or import the published ladder. Runs come from Run and Data." if can_write else f"{words}.")
    for sentence in summary_sentences(lines):
        st.markdown(as_text(sentence))
    if lines:
        _show_table(lines)
        for number, found in enumerate(figures.histories(lines)):
            st.markdown(f"**{as_text(found.subject)}**")
            show_captioned(found, f"ledger-{number}")
    ledger_forms.show(context, lines)


def _show_table(lines: Sequence[LedgerLine]) -> None:
    """Show one line for each result, and for each registration without a result."""
    columns: dict[str, Any] = {
        **{name: st.column_config.NumberColumn(name, format="%.4f", help=_HELP[name]) for name in ("p", "p (Holm)", "p (BH)")},
        "detectable": st.column_config.TextColumn("detectable", help=_HELP["detectable"]),
    }
    tables.show_table(pd.DataFrame(ledger_table(lines)), "ledger of hypotheses", columns, alt="The ledger of hypotheses")
    st.caption("Lines are only added, never changed or deleted.")
