"""On a row: the findings in its texts, as the newest finished reading of each kind lists them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.features.arguments.findings import FindingKind, kinds, load_findings
from core.features.arguments.readings import answers_rubric
from core.runs.workspace import Workspace
from core.store import Cursor, runs
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
            if newest is not None and (rows := findings_of_row(db, newest.id, pair, kind)):
                with st.expander(f"{kind.name.capitalize()} ({len(rows)})"):
                    show_table(pd.DataFrame(rows).dropna(axis=1, how="all"), f"row-{kind.name}")


def findings_of_row(
    db: Cursor, reading: str, pair: str, kind: FindingKind
) -> list[dict[str, object]]:
    """Return the findings of a reading (id) in a row as rows of a table, without those that only
    answer its question."""
    listed = load_findings(db, kind, reading, pair)[1].to_dict("records")
    return [kind.row(finding) for finding in listed if not finding["is_answer"]]
