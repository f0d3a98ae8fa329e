"""Read: which rubric is asked; a link carries it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.actions.workspace import Workspace
from core.audit.rubric import Rubric
from core.store.rubrics import Design
from core.store.runs import Run
from core.ui.shared.linked import choose_one
from core.ui.shared.loaders.cache import reading


def all_rubrics(workspace: Workspace) -> list[Rubric]:
    """Those that come with PerturbDesk, then one's own."""
    from core.actions import rubrics  # type: ignore[attr-defined,unused-ignore]

    found: list[Rubric] = rubrics.list_all(workspace)
    return found


def choose_rubric(workspace: Workspace, place: Any = st) -> Rubric | None:
    """Show the choice of a rubric; None if there is none."""
    known = {rubric.name: rubric for rubric in all_rubrics(workspace)}
    if not known:
        return None
    first = next(iter(known))
    titles = {name: f"{name}: {rubric.question}" for name, rubric in known.items()}
    return known[choose_one(place.selectbox, "rubric", "Rubric", titles, first) or first]


def designs_for(run: Run, rubric: Rubric) -> list[Design]:
    """The designs of a sample that go by nothing, or by answers that there are."""
    from core.actions import readings  # type: ignore[attr-defined,unused-ignore]

    with reading() as db:
        has_reading = any(each.status == "done" for each in readings.list_readings(db, rubric, run.id))
    if has_reading:
        return ["random", "stratified", "unsure"]
    return ["random", "stratified"] if rubric.is_answered_by_rule else ["random"]
