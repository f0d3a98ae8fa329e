"""Breakdown: where does the score come from?"""

import streamlit as st

from core.ui.breakdown import baselines, other_scores, panels
from core.ui.shared import links, loaders, run_browser, score_box, shell, widgets

context = shell.open_page(__file__)
st.markdown("## Breakdown")
run = context.run
if run is None:
    run_browser.show_no_run(context)
    st.stop()

score = loaders.run_score(run.id)
rows = loaders.scored_rows(run.id)
if score.whole.n_labelled == 0:
    score_box.show_no_labels(score.whole.n)
    run_browser.offer_labelled_run(context, links.BREAKDOWN)
    panels.show_ties(rows)
    st.stop()

score_box.show_run_score(score)
score_box.show_protocols(run.id)
widgets.show_tabs(
    "part",
    {
        "Slices": lambda: panels.show_slices(run, rows, score),
        "Baselines": lambda: baselines.show_baselines(rows),
        "Other ways to score": lambda: other_scores.show_ways(run, rows),
        "Top of the list": lambda: other_scores.show_top(run, rows),
        "Curves": lambda: panels.show_curves(rows, score),
        "Distributions": lambda: panels.show_histograms(rows),
        "Calibration": lambda: other_scores.show_calibration(run, rows),
    },
)
