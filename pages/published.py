"""Published numbers: which of them can be reproduced?"""

import streamlit as st

from core.ui.experiments import published_tab
from core.ui.shared import run_browser, shell

context = shell.open_page(__file__)
st.markdown("## Published numbers")
if context.dataset is None:
    run_browser.show_no_run(context)
    st.stop()
published_tab.show(context)
