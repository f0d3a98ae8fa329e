"""Stops on pages: two buttons beside an element add it to the report or to the walk-through, which
both are lists of stops.

Every page has them, so what reports and sites are made with is imported on a click.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.features.sharing import walks
from core.features.sharing.walks import Stop
from core.runs.workspace import Workspace
from core.store.runs import Run
from core.ui import links
from core.ui.loaders.cache import cache_by, from_store
from core.ui.shell import PageContext, explain_errors
from core.ui.widgets import View

WALK = "_walk"  # session key: the walk-through that receives stops
all_walks = cache_by("walks", entries=1)(from_store(walks.list_all))
walk_stops = cache_by("walks")(from_store(walks.of_walk))


def current_walk() -> str:
    """Return the name of the walk-through that receives stops."""
    return str(st.session_state.get(WALK, walks.USUAL))


def base_of_stops() -> str:
    """Return the base address of links in stops: that of the settings, else that of this page."""
    from core.features.sharing.report.walk import AT_HOME

    opened = (st.context.url or "").rpartition("/")[0]
    return links.base_address() or (opened if opened.startswith("http") else AT_HOME)


def show(workspace: Workspace, make: Callable[[], View], key: str) -> None:
    """Show both buttons, except to readers. key: of the element beside them, on its page.

    Their words are for screen readers and tooltips; the style sheet shows only the signs.
    """
    if workspace.settings.read_only:
        return
    buttons = (
        (walks.REPORT, f"to-report-{key}", ":material/note_add:", "Add to report"),
        (current_walk(), f"to-walk-{key}", ":material/add_location_alt:", "Add to walk-through"),
    )
    for walk, name, icon, words in buttons:
        if st.button(words, icon=icon, help=words, key=name, type="tertiary"):
            from core.features.sharing.report.walk import keep_figure

            view = make()
            stop = Stop(
                dataset=view.dataset,
                walk=walk,
                title=view.title,
                address=view.address,
                sentence=view.sentence[: walks.LONGEST],
                run=view.run,
                pair_id=view.pair_id,
                figure=None if view.figure is None else keep_figure(view.figure),
            )
            walks.add_stop(workspace, stop)
            st.toast(
                f"Added to {'the report' if walk == walks.REPORT else walk}. See it on Share.",
                icon=":material/check:",
            )


def show_site(context: PageContext, run: Run) -> None:
    """Show a button that makes the run's site as one zip, and then its download."""
    with st.popover("For a colleague without the app", icon=":material/web:", width="content"):
        st.markdown(
            "A folder of plain files. Any browser shows every debate, with filters and search,"
            " without the app."
        )
        st.caption("It contains the labels, the dossiers and all texts of the run, but no notes.")
        if not st.button("Make the site", key=f"site-{run.id}"):
            return
        from core.features.sharing.site import actions as site

        with explain_errors():
            with st.spinner("Packing …"):
                made, content = site.zip_site(context.workspace, run.id)
            st.download_button(
                "Download the site",
                content,
                f"{made.name}.zip",
                "application/zip",
                type="primary",
                on_click="ignore",
            )
            st.caption(f"{made.rows:,} rows, {len(content):,} bytes")
