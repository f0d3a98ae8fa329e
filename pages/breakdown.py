"""Breakdown: where does the score come from?"""

import streamlit as st

from core.ui import breakdown, browser, loaders, score_box, shell, widgets

view = shell.enter(__file__)
st.markdown("## Breakdown")
run = view.run
if run is None:
    browser.nothing(view)
    st.stop()

score, _ = loaders.scored(run.id)
rows = loaders.run_rows(run.id)
if score.n_labelled == 0:
    score_box.no_labels(score.n)
    breakdown.ties(run, rows)
    st.stop()

score_box.show(score)
score_box.protocol(run.id)
widgets.tabs(
    "part",
    {
        "Slices": lambda: breakdown.slices(run, rows, score),
        "Curves": lambda: breakdown.curves(run, rows),
        "Distributions": lambda: breakdown.spread(run, rows),
        "Calibration": lambda: breakdown.trust(run, rows),
    },
)
