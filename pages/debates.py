"""Debates: what did they argue on this row, and was it an argument?"""

import streamlit as st

from core.ui.debates import audit_tab, filters, row
from core.ui.shared import loaders, run_browser, shell, widgets

view = shell.enter(__file__)
run = view.run
if run is None:
    st.markdown("## Debates")
    run_browser.nothing(view)
    st.stop()


def rows() -> None:
    wanted, order = filters.show(run.id)
    ids = loaders.matching_ids(run.id, wanted, order)
    if not ids:
        run_browser.no_match(run)
        return
    list_side, row_side = st.columns([0.34, 0.66], gap="medium")
    with list_side:
        pair_id = run_browser.listing(run, ids)
    with row_side:
        details = loaders.row_details(run.id, pair_id)
        compare = run_browser.toolbar(view, run, ids, pair_id, details.runs)
        row.show(view, run, details, compare)


widgets.tabs("tab", {"Rows": rows, "Audit": lambda: audit_tab.show(run, *loaders.debate_audit(run.id))})
