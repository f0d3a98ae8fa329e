"""Arguments: what do all texts say?"""

import streamlit as st

from core.features.arguments import findings_tab
from core.features.arguments.page import label_tab, rubrics_tab, worth_tab
from core.ui import run_browser, shell, widgets

context = shell.open_page(__file__)
st.markdown("## Arguments")
run = context.run
if run is None:
    run_browser.show_no_run(context)
    st.stop()


st.caption(
    "Rubrics: a question about every text · Label: answer it yourself · Worth: whether answers"
    " predict correct rows · Findings: claims about genes, checked; points of debates, answered or"
    " ignored"
)
widgets.show_tabs(
    "tab",
    {
        "Rubrics": lambda: rubrics_tab.show(context, run),
        "Label": lambda: label_tab.show(context, run),
        "Worth": lambda: worth_tab.show(context, run),
        "Findings": lambda: findings_tab.show(context, run),
    },
)
