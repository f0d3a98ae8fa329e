"""On a row: the findings in its texts, as the newest finished reading of each kind lists them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.features.arguments.findings import kinds, load_findings
from core.features.arguments.readings import answers_rubric
from core.runs.workspace import Workspace
from core.store import runs
from core.store.runs import Run
from core.ui.results import show_table


def show(
    workspace: Workspace,
    run: Run,  # noqa: ARG001
    pair: str,
    readings: Sequence[str],
) -> None:
    """Show the findings of each kind that has a reading in an expander. readings: of the run,
    newest first."""
    if not readings:
        return
    with workspace.store.read() as db:
        finished = [runs.find(db, each) for each in readings]
        for kind in kinds().values():
            newest = next(
                (each for each in finished if answers_rubric(each, kind.schema.rubric)), None
            )
            if newest is None:
                continue
            listed = load_findings(db, kind, newest.id, pair)[1].to_dict("records")
            rows = [kind.row(finding) for finding in listed if not finding["is_answer"]]
            if rows:
                with st.expander(f"{kind.name.capitalize()} ({len(rows)})"):
                    show_table(pd.DataFrame(rows).dropna(axis=1, how="all"), f"row-{kind.name}")
