"""Compare: is one run better than another?"""

import streamlit as st

from core.scoring.compare_runs import has_an_auroc
from core.scoring.comparison_words import comparison_sentences
from core.ui.compare import panels
from core.ui.shared import links, loaders, run_browser, score_box, shell, widgets

context = shell.open_page(__file__)
st.markdown("## Compare")
run = context.run
if run is None:
    run_browser.show_no_run(context)
    st.stop()

choice = panels.choose_baselines(context, run)
if choice is None:
    run_browser.offer_labelled_run(context, links.COMPARE)
    st.stop()

baseline = choice.baseline
with st.spinner(f"Comparing {widgets.as_text(run.name)} with {widgets.as_text(baseline.name)} …"):
    result = loaders.comparison(baseline.id, run.id)
score_box.show_marks(result.pair.a.marks)
panels.show_verdict(comparison_sentences(result, baseline.name, run.name, choice.margin))
links.to_report(run, baseline, "Report of this comparison")
if not result.covered.n_labelled:
    run_browser.offer_labelled_run(context, links.COMPARE)
panels.show_looked_at(context, run, [baseline, *choice.also])
if choice.also:
    panels.show_several(run, [baseline, *choice.also])
for each in (run, baseline):
    score_box.show_protocols(each.id)
if has_an_auroc(result.covered):
    panels.show_changes(result, baseline, run)
    panels.show_gains_and_losses(result.pair, baseline, run)
panels.show_rank_changes(result.pair, baseline, run)
