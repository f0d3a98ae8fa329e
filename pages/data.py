"""Data: what do we have, and can it be trusted?"""

import streamlit as st

from core.ui import shell, widgets

context = shell.open_page(__file__)
st.markdown("## Data")
widgets.show_tabs("tab", shell.tabs_of("data", context))
