"""Ablations: what does each part add?"""

import streamlit as st

from core.ui.experiments import ablations_tab
from core.ui.shared import shell

context = shell.open_page(__file__)
st.markdown("## Ablations")
ablations_tab.show(context)
