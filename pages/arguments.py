"""Arguments: what do all texts say?"""

import streamlit as st

from core.features.arguments.page import tabs
from core.ui import run_browser, shell, widgets

context = shell.open_page(__file__)
run = context.run
if run is None:
    run_browser.show_no_run(context)
    st.stop()


st.caption(
    "Rubrics: a question about every text · Label: answer it yourself · Worth: whether answers"
    " predict correct rows · Findings: claims about genes; points of debates, answered or"
    " ignored"
)
widgets.show_tabs(
    "tab",
    {
        "Rubrics": lambda: tabs.show_rubrics(context, run),
        "Label": lambda: tabs.show_label(context, run),
        "Worth": lambda: tabs.show_worth(context, run),
        "Findings": lambda: tabs.show_findings(context, run),
    },
)
