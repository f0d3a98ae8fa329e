"""Submit: is it valid?"""

import streamlit as st

from core.ui.shared import run_browser, shell, widgets
from core.ui.submit import panels

context = shell.open_page(__file__)
st.markdown("## Submit")


def show_run() -> None:
    if context.run is None:
        run_browser.show_no_run(context)
    elif context.dataset is not None and context.dataset.headline == "macro":
        name = widgets.as_text(context.dataset.name)
        widgets.show_empty(f"{name} is a cell line of PerturbQA: there is nothing to submit, its test rows have labels.")
    else:
        panels.show_package(context.run)


widgets.show_tabs("tab", {"Package a run": show_run, "Check a file": lambda: panels.show_check(context)})
