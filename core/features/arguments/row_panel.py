"""On a row: the findings in its texts, as the newest finished reading of each kind lists them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.features.arguments.findings import FindingKind, kinds, load_findings
from core.features.arguments.readings import answers_rubric
from core.runs.workspace import Workspace
from core.store import Cursor, runs
from core.store.runs import Run
from core.ui.loaders.cache import cache_by
from core.ui.results import show_table
from core.ui.server_workspace import read_workspace


def show(workspace: Workspace, run: Run, pair: str, readings: Sequence[str]) -> None:
    """Show the findings of each kind that has a reading in an expander. readings: of the run,
    newest first."""
    if not readings:
        return
    with workspace.store.read() as db:
        finished = [runs.find(db, each) for each in readings]
    for kind in kinds().values():
        newest = next((each for each in finished if answers_rubric(each, kind.schema.rubric)), None)
        if newest is None:
            continue
        with st.spinner("Reading the knowledge packs …"):
            knowledge = _knowledge(kind.name, run.dataset)
        with workspace.store.read() as db:
            rows = findings_of_row(db, newest.id, pair, kind, knowledge)
        if rows:
            with st.expander(f"{kind.name.capitalize()} ({len(rows)})"):
                show_table(pd.DataFrame(rows).dropna(axis=1, how="all"), f"row-{kind.name}")


@cache_by("datasets", entries=2, shared=True)
def _knowledge(kind: str, dataset: str) -> Any:
    return kinds()[kind].knowledge_of(read_workspace(), dataset)


def findings_of_row(
    db: Cursor, reading: str, pair: str, kind: FindingKind, knowledge: Any
) -> list[dict[str, object]]:
    """Return the findings of a reading (id) in a row as rows of a table.

    One that only answers the question of the row is left out unless a pack decides it.
    """
    listed = load_findings(db, kind, reading, knowledge, pair)[1].to_dict("records")
    return [kind.row(finding) for finding in listed if not finding["is_answer"] or finding["pack"]]
