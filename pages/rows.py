"""Rows: what did they argue on this row, and was it an argument?"""

import streamlit as st

from core.features.reading.rows import audit_tab, row
from core.ui import filters, run_browser, shell, widgets
from core.ui.loaders.records import read_ahead, row_details
from core.ui.loaders.scores import debate_audit

context = shell.open_page(__file__)
run = context.run
if run is None:
    run_browser.show_no_run(context)
    st.stop()


def rows() -> None:
    wanted = filters.show(run)

    @shell.fragment  # a step to another row draws neither the sidebar nor the filters again
    def browse() -> None:
        list_side, row_side = st.columns([0.27, 0.73], gap="small")
        with list_side:
            found = filters.choose_rows(run, wanted)
            if not found.ids:
                filters.show_no_match(run)
                return
            pair_id = run_browser.choose_row(found.ids)
        with row_side, run_browser.row_pane():
            shell.set_title(pair_id.replace("_", " → "), "Rows")
            row.show(context, run, row_details(run.id, pair_id), found.ids)
        with list_side:
            run_browser.show_list(run, found, pair_id)
        read_ahead(
            [run.id, *st.query_params.get_all("with")], run_browser.beside(found.ids, pair_id)
        )

    browse()


widgets.show_tabs("tab", {"Rows": rows, "Audit": lambda: audit_tab.show(run, debate_audit(run.id))})
