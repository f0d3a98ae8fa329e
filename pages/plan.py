"""Plan: how large has an experiment to be?"""

import streamlit as st

from core.ui.experiments import plan_tab
from core.ui.shared import shell

context = shell.open_page(__file__)
st.markdown("## Plan")
plan_tab.show(context)
