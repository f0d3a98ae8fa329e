"""Data, tab Runs and notes: a run as a site, for a colleague without the app."""

from __future__ import annotations

import streamlit as st

from core.features.sharing import walk_actions
from core.features.sharing.page.stop_buttons import all_walks, links_of_stops
from core.features.sharing.site import actions as site
from core.store.runs import Run
from core.ui.shell import PageContext, explain_errors


def show(context: PageContext, run: Run) -> None:
    """Show a button that makes the run's site as one zip, and then its download."""
    with st.popover("For a colleague without the app", icon=":material/web:", width="content"):
        st.markdown(
            "A folder of plain files. Any browser shows every debate, with filters and search,"
            " without the app."
        )
        st.caption("It contains the labels, the dossiers and all texts of the run, but no notes.")
        names = [
            name
            for home, name, _ in all_walks()
            if home == run.dataset and name != walk_actions.REPORT
        ]
        chosen = (
            st.multiselect(
                "Walk-throughs in it", names, key=f"note-site-{run.id}", placeholder="none"
            )
            if names
            else []
        )
        if not st.button("Make the site", key=f"site-{run.id}"):
            return
        with explain_errors():
            with st.spinner("Packing …"):
                made, content = site.zip_site(context.workspace, run.id, chosen, links_of_stops())
            st.download_button(
                "Download the site",
                content,
                f"{made.name}.zip",
                "application/zip",
                type="primary",
                on_click="ignore",
            )
            st.caption(f"{made.rows:,} rows, {len(content):,} bytes")
