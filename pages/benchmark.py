"""Benchmark: which of two ways is better, blinded and in pairs?"""

import streamlit as st

from core.ui.experiments import benchmark_tab
from core.ui.shared import shell

context = shell.open_page(__file__)
st.markdown("## Benchmark")
benchmark_tab.show(context)
