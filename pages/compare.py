"""Compare: is one run better than another?"""

import streamlit as st

from core.features.scores import figures
from core.features.scores.page import compare as panels
from core.ui import links, run_browser, shell, widgets
from core.ui.results import show_marks, show_protocols

context = shell.open_page(__file__)
run = context.run
if run is None:
    run_browser.show_no_run(context)
    st.stop()

others, margin = panels.choose_baselines(context, run)
if not others:
    run_browser.offer_labelled_run(context, links.COMPARE)
    st.stop()

baseline = others[0]
with st.spinner(f"Comparing {widgets.as_text(run.name)} with {widgets.as_text(baseline.name)} …"):
    results = panels.compare_with(context, run, others, margin)
result = results[0]
show_marks(result.a.marks)
panels.show_verdict(result)
links.to_report(run, baseline, "Report of this comparison")
if not result.covered.n_labelled:
    run_browser.offer_labelled_run(context, links.COMPARE)
if len(others) > 1:
    panels.show_several(results)
for each in (run, baseline):
    show_protocols(each.id)
if result.judged is not None:
    widgets.show_captioned(figures.changes_of_pair(result), "changes")
    panels.show_gains_and_losses(result)
panels.show_rank_changes(result)
