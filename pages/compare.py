"""Compare: is one run better than another?"""

import streamlit as st

from core.report import numbers, verdict
from core.ui import browser, compare, loaders, score_box, shell

view = shell.enter(__file__)
st.markdown("## Compare")
run = view.run
if run is None:
    browser.nothing(view)
    st.stop()

baseline = compare.choose_baseline(view, run)
if baseline is None:
    st.stop()

pair = numbers.paired(baseline, loaders.run_rows(baseline.id), run, loaders.run_rows(run.id))
result = numbers.compared(pair.rows, pair.a, pair.b)
for sentence in verdict.compared(result, baseline.name, run.name):
    st.text(sentence)
for each in (run, baseline):
    score_box.protocol(each.id)
if compare.can_tell(result):
    compare.changes(result, baseline, run)
    compare.gained_and_lost(pair, baseline, run)
compare.movement(pair, baseline, run)
