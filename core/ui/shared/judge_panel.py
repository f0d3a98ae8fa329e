"""How sure a run's judge is: how its answers vary between repeats."""

from __future__ import annotations

import streamlit as st

from core.errors import InputError, StateError
from core.experiments.seed_words import askings_lines
from core.store.runs import Run
from core.ui.shared import loaders
from core.ui.shared.widgets import as_text


def show_judge(run: Run) -> None:
    """Show how sure the judge of a run is, from all repeats under other seeds; show a sentence if there are none."""
    try:
        with st.spinner("Comparing the answers …"):
            found = loaders.seed_report(run.id)
    except (StateError, InputError) as error:
        st.markdown(as_text(error))
        return
    st.markdown(as_text(" ".join(askings_lines(found))))
