"""Published numbers: which of them come out again?"""

import streamlit as st

from core.ui.experiments import published_tab
from core.ui.shared import shell

context = shell.open_page(__file__)
st.markdown("## Published numbers")
published_tab.show(context)
