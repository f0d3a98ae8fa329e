"""Fuse: what if the weights were different?"""

import streamlit as st

from core.features.fuse.page import fusion_controls, results, save_controls
from core.ui import run_browser, shell
from core.ui.results import show_marks

context = shell.open_page(__file__)
run, dataset = context.run, context.dataset
if run is None or dataset is None:
    run_browser.show_no_run(context)
    st.stop()
show_marks(dataset.marks)


@shell.fragment
def show_fusion() -> None:
    """Show the controls and everything that changes with them."""
    places = fusion_controls.make_places()
    choice = fusion_controls.show_fusion_controls(context, dataset, run, places)
    if choice is None:
        return
    with places.explorer:
        baseline = save_controls.show_baseline(context, choice, places.baseline)
        prepared = results.prepare_or_say(choice, baseline)
        if prepared is None:
            return
        version = results.show_explorer(choice, baseline, prepared)
        with st.container(key="fusion-state"):  # takes no space on the page
            results.say_all(choice, baseline, prepared, version)
    with places.saving:
        save_controls.show_save_controls(context, choice, baseline, prepared)
    found = prepared.score_at(choice.settings().weights())
    with places.remarks:
        results.show_verdict(choice, baseline, prepared, found)
        results.show_figures(choice, prepared, found)


show_fusion()
