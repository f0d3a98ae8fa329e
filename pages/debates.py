"""Debates: what did they argue on this row, and was it an argument?"""

import streamlit as st

from core.ui.debates import audit_tab, filters, row
from core.ui.shared import loaders, run_browser, shell, widgets

context = shell.open_page(__file__)
run = context.run
if run is None:
    st.markdown("## Debates")
    run_browser.show_no_run(context)
    st.stop()


def rows() -> None:
    wanted, order = filters.show(run)
    ids = loaders.matching_ids(run.id, wanted, order)
    if not ids:
        filters.show_no_match(run)
        return
    list_side, row_side = st.columns([0.34, 0.66], gap="medium")
    with list_side:
        pair_id = run_browser.choose_row(run, ids)
    with row_side:
        details = loaders.row_details(run.id, pair_id)
        compare = run_browser.show_toolbar(context, run, ids, pair_id, details.runs)
        row.show(context, run, details, compare)


widgets.show_tabs("tab", {"Rows": rows, "Audit": lambda: audit_tab.show(run, *loaders.debate_audit(run.id))})
