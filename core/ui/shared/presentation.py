"""A switch for showing rows to others: larger type, nothing but the row, and the keys and buttons that go to the next."""

from __future__ import annotations

import streamlit as st

from core.ui.shared.linked import bind

_HELP = "Larger type, without the list and the filters. The arrow keys walk through the rows that the filters leave."
# The list is out of sight rather than gone: it hears the keys.
_STYLE = """<style>
html { font-size: 19px !important; }
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"], [data-testid="stTabs"] [role="tablist"], .st-key-notes,
[data-testid="stMain"] h2, [role="tabpanel"] > [data-testid="stVerticalBlock"] > :not(:has(.st-key-row-header)),
.st-key-copy-link { display: none; }
[data-testid="stHorizontalBlock"] > [data-testid="stColumn"]:has([class*="st-key-list-"]) { position: absolute; left: -200vw; }
[data-testid="stColumn"]:has(.st-key-row-header) { flex: 1 1 100%; width: 100%; }
[data-testid="stMainBlockContainer"] { padding-top: 1rem; }
</style>"""


def show_switch() -> None:
    """Show the switch; while it is on, the page shows the row alone."""
    is_on = st.toggle("Present", help=_HELP, **bind("present"))
    st.html(_STYLE if is_on else "<style></style>")  # a fragment that leaves a style out does not take it away
