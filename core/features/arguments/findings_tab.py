"""Arguments, tab Findings: what a model lists in a run's texts: claims, the clash of debates."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.features.arguments.finding_kinds import FindingKind, kinds
from core.features.arguments.page import choices, rubric_forms
from core.features.arguments.schema_reading import SchemaReading, reading_of_run
from core.store.runs import Run
from core.ui import links, tables
from core.ui.linked import choose_one
from core.ui.loaders.cache import cache_by
from core.ui.loaders.rows import text_counts
from core.ui.results import show_result
from core.ui.server_workspace import read_workspace
from core.ui.shell import PageContext
from core.ui.widgets import show_empty

_MOST_SHOWN = 1_000  # findings in the table; the command lists all


def show_findings(context: PageContext, run: Run) -> None:
    """Show the choice of what is listed and by whom, its numbers, and each finding with its row."""
    titles = {name: f"{name}: {kind.schema.rubric.question}" for name, kind in kinds().items()}
    first = next(iter(titles))
    kind = kinds()[choose_one(st.selectbox, "findings", "What is listed", titles, first) or first]
    rubric = kind.schema.rubric
    readers = choices.judges_of(run, rubric)
    if not choices.asks_about(run, rubric) or (
        kind.schema.of == "debate" and "verdict" not in text_counts(run.id)
    ):
        show_empty(f"This run has no {kind.texts} to read.")
        return
    if not readers:
        show_empty(f"No model has read the {kind.texts} of this run yet. Start a reading below.")
    elif reader := choose_one(
        st.selectbox, "findings_reader", "Listed by", readers, next(iter(readers))
    ):
        _draw(run, kind, reader)
    rubric_forms.show_reading(context, run, rubric, unfolded=not readers)


@cache_by("run:{1}", "runs", "datasets", entries=4, shared=True)
def _reading(kind: str, run: str, reader: str) -> SchemaReading:
    return reading_of_run(read_workspace(), kinds()[kind], run, reader)


def _draw(run: Run, kind: FindingKind, reader: str) -> None:
    with st.spinner("Reading the texts …"):
        reading = _reading(kind.name, run.id, reader)
    show_result(reading, run.name, f"findings-{kind.name}")
    rows = [kind.row(finding) for finding in reading.others[:_MOST_SHOWN]]
    with st.expander(
        f"{len(rows):,} of {reading.n_findings:,} {kind.schema.listed}, with links to their rows"
    ):
        addresses = [
            links.page_address("rows", dataset=run.dataset, run=run.id, row=row["row"])
            for row in rows
        ]
        column = st.column_config.LinkColumn("row", display_text=r"row=([^&]+)")
        tables.show_table(
            pd.DataFrame(rows).assign(row=addresses), kind.schema.listed, {"row": column}
        )
