"""Breakdown: where does the score come from?"""

import streamlit as st

from core.ui.breakdown import panels
from core.ui.shared import loaders, run_browser, score_box, shell, widgets

view = shell.enter(__file__)
st.markdown("## Breakdown")
run = view.run
if run is None:
    run_browser.nothing(view)
    st.stop()

score = loaders.run_score(run.id)
rows = loaders.run_rows(run.id)
if score.n_labelled == 0:
    score_box.no_labels(score.n)
    panels.ties(run, rows)
    st.stop()

score_box.show(score)
score_box.protocol(run.id)
widgets.tabs(
    "part",
    {
        "Slices": lambda: panels.slices(run, rows, score),
        "Curves": lambda: panels.curves(run, rows),
        "Distributions": lambda: panels.spread(run, rows),
        "Calibration": lambda: panels.trust(run, rows),
    },
)
