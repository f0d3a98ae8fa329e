"""Data, tab Spaces and leaks: what splits share, what reveals labels, and the baselines' scores."""

from __future__ import annotations

import streamlit as st

from core.features.leakage import audit as audits
from core.features.leakage.audit import LeakageAudit
from core.ui.loaders.cache import cache_by
from core.ui.loaders.records import all_datasets
from core.ui.results import show_result
from core.ui.server_workspace import read_workspace
from core.ui.shell import PageContext
from core.ui.widgets import show_empty


def show(context: PageContext) -> None:
    """Show the leakage audit of the chosen dataset."""
    if context.dataset is None:
        show_empty("There is no dataset yet.")
        return
    with st.spinner("Checking splits, spaces and runs for leaks …"):
        audit = _audit(context.dataset.id)
    show_result(audit, context.dataset.name, "leakage")


@cache_by("datasets", "spaces", "runs", entries=4)
def _audit(dataset: str) -> LeakageAudit:
    [record] = [each for each in all_datasets() if each.id == dataset]
    return audits.audit(read_workspace(), record)
