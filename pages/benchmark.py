"""Benchmark: which of two ways is better, blinded and in pairs?"""

import streamlit as st

from core.ui.experiments import benchmark_tab
from core.ui.shared import run_browser, shell

context = shell.open_page(__file__)
st.markdown("## Benchmark")
if context.dataset is None:
    run_browser.show_no_run(context)
    st.stop()
benchmark_tab.show(context)
