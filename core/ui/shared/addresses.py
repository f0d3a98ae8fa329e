"""Addresses of pages that are gone: an old link is answered with one line, which says where the same is shown now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from core.ui.shared import links

# Former address → the tab of Experiments that shows the same.
MOVED: Mapping[str, str] = {tab.lower(): tab for tab in ("Ledger", "Benchmark", "Plan", "Evidence", "Ablations")}


def moved_pages() -> list[Any]:
    """Return a hidden page for each former address."""
    return [st.Page(_tell(tab), title=tab, url_path=address, visibility="hidden") for address, tab in MOVED.items()]


def _tell(tab: str) -> Callable[[], None]:
    def show() -> None:
        parameters = {**links.read_parameters(), "tab": tab}
        label = f"{tab} is now a tab of Experiments: open this link there"
        st.page_link(links.EXPERIMENTS, label=label, query_params=parameters, width="content")

    return show
