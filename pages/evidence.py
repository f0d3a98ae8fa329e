"""Evidence: which tools moved the answers?"""

import streamlit as st

from core.ui.experiments import evidence_tab
from core.ui.shared import shell

context = shell.open_page(__file__)
st.markdown("## Evidence")
evidence_tab.show(context)
