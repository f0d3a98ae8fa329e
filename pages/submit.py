"""Submit: is it valid?"""

import streamlit as st

from core.ui.shared import run_browser, shell, widgets
from core.ui.submit import panels

view = shell.enter(__file__)
st.markdown("## Submit")


def a_run() -> None:
    if view.run is None:
        run_browser.nothing(view)
    else:
        panels.package(view.run)


widgets.tabs("tab", {"Package a run": a_run, "Check a file": lambda: panels.check(view)})
