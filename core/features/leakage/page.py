"""Data, tab Spaces and leaks: what splits share, what reveals labels, and the baselines' scores."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.features.leakage.figures import gene_rows
from core.features.leakage.loaders import leakage_audit, probe_power
from core.ui.loaders.records import dataset_rows
from core.ui.results import show_result
from core.ui.shell import PageContext
from core.ui.widgets import show_captioned, show_empty


def show(context: PageContext) -> None:
    """Show the leakage audit of the chosen dataset, and what the number of a gene's rows
    reveals."""
    if context.dataset is None:
        show_empty("There is no dataset yet.")
        return
    with st.spinner("Checking splits, spaces and runs for leaks …"):
        rows, audit = (
            dataset_rows(context.dataset.id),
            leakage_audit(context.dataset.id),
        )
        power = probe_power(context.dataset.id) if audit.spaces else ()
    show_result(replace(audit, power=power), context.dataset.name, "leakage")
    if rows["label"].notna().any():
        show_captioned(gene_rows.of_dataset(context.dataset.name, rows), "gene-counts")
