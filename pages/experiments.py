"""Experiments: which ideas survived?"""

from functools import partial

import streamlit as st

from core.ui.experiments.tabs import TABS
from core.ui.shared import shell, widgets

context = shell.open_page(__file__)
st.markdown("## Experiments")
widgets.show_tabs("tab", {tab.title: partial(tab.show, context) for tab in TABS})
