"""Submit: is it valid?"""

import streamlit as st

from core.ui import browser, shell, submit, widgets

view = shell.enter(__file__)
st.markdown("## Submit")


def a_run() -> None:
    if view.run is None:
        browser.nothing(view)
    else:
        submit.package(view.run)


widgets.tabs("tab", {"Package a run": a_run, "Check a file": lambda: submit.check(view)})
