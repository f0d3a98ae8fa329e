"""Compare: is one run better than another?"""

import streamlit as st

from core.scoring import run_scores, sentences
from core.ui.compare import panels
from core.ui.shared import loaders, run_browser, score_box, shell

context = shell.open_page(__file__)
st.markdown("## Compare")
run = context.run
if run is None:
    run_browser.show_no_run(context)
    st.stop()

baseline = panels.choose_baseline(context, run)
if baseline is None:
    st.stop()

pair = run_scores.pair_runs(baseline, loaders.run_rows(baseline.id), run, loaders.run_rows(run.id))
result = run_scores.compare_rows(pair.rows, pair.a, pair.b)
for sentence in sentences.comparison_sentences(result, baseline.name, run.name):
    st.text(sentence)
for each in (run, baseline):
    score_box.show_protocols(each.id)
if panels.has_both_classes(result):
    panels.show_changes(result, baseline, run)
    panels.show_gains_and_losses(pair, baseline, run)
panels.show_rank_changes(pair, baseline, run)
