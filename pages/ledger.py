"""Ledger: which ideas survived?"""

import streamlit as st

from core.ui.experiments import ledger_tab
from core.ui.shared import shell

context = shell.open_page(__file__)
st.markdown("## Ledger")
ledger_tab.show(context)
