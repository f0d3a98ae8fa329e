"""What-if: what if we weigh it otherwise?"""

import streamlit as st

from core.ui.shared import loaders, run_browser, shell
from core.ui.what_if import fusion_controls, panels, save_controls

view = shell.open_page(__file__)
st.markdown("## What-if")
run, dataset = view.run, view.dataset
if run is None or dataset is None:
    run_browser.show_no_run(view)
    st.stop()
save_controls.show_saved()


@shell.fragment
def board() -> None:
    """Everything that moves with a slider."""
    labelled = bool(loaders.run_rows(run.id)["label"].notna().any())
    numbers = st.container()
    made = fusion_controls.choose(dataset, run, view.runs, labelled)
    if made is None:
        return
    baseline = save_controls.bar(view, made)
    prepared = fusion_controls.prepare(made, baseline)
    found = prepared.score_at(made.settings().weights())
    with numbers:  # at once; what takes longer follows
        if labelled:
            panels.numbers(found, baseline)
        else:
            panels.no_score(made, found)
    tuned = panels.tuned_on(made, prepared, baseline) if labelled else None
    with numbers:
        panels.beside(made, prepared, tuned)
    panels.remarks(made, found)
    picture, moved = st.columns([0.58, 0.42], gap="medium")
    with picture:
        if tuned is not None:
            panels.surface(made, tuned)
        else:
            panels.ranks(made, found)
    with moved:
        panels.movers(made, found)
    panels.movers_chart(made, found)


board()
