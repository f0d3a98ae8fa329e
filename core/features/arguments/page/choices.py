"""Arguments: the choice of a rubric and of whose answers are shown; links contain both."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.features.arguments import labels, readings, rubrics
from core.features.arguments.rates import RULE
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import KINDS
from core.runs.workspace import Workspace
from core.store.runs import Run
from core.ui.linked import choose_one
from core.ui.loaders.cache import reading
from core.ui.loaders.records import all_runs
from core.ui.loaders.rows import text_counts


def asks_about(run: Run, rubric: Rubric) -> bool:
    """Return whether a run has texts that a rubric asks about, whatever their stage."""
    roles = [
        role
        for kind, of_kind in text_counts(run.id).items()
        if kind in KINDS[rubric.unit]
        for role in of_kind
    ]
    return any(not rubric.roles or role in rubric.roles for role in roles)


def choose_rubric(
    workspace: Workspace, run: Run, place: Any = st, *, to_label: bool = False
) -> Rubric | None:
    """Show the choice of a rubric, by default the first that asks about texts of the run; None if
    there is none.

    to_label: whether only those that take people's labels are offered.
    """
    known = {rubric.name: rubric for rubric in rubrics.list_rubrics(workspace)}
    if to_label:
        of_run = [each for each in all_runs() if each.is_reading and each.parents == (run.id,)]
        known = {
            name: rubric for name, rubric in known.items() if labels.takes_labels(rubric, of_run)
        }
    if not known:
        return None
    first = next(
        (name for name, rubric in known.items() if asks_about(run, rubric)), next(iter(known))
    )
    titles = {name: f"{name}: {rubric.question}" for name, rubric in known.items()}
    return known[choose_one(place.selectbox, "rubric", "Rubric", titles, first) or first]


def finished_readings(run: Run, rubric: Rubric) -> list[Run]:
    """Return the runs in which a model answered a rubric about this run, newest first."""
    with reading() as db:
        return [
            each for each in readings.list_readings(db, rubric, run.id) if each.status == "done"
        ]


def judges_of(run: Run, rubric: Rubric) -> dict[str, str]:
    """Return who answered a rubric about a run: "rule" or a reading's id → its title."""
    rule = (
        {RULE: "its pattern" if rubric.pattern else "its rule"}
        if rubric.is_answered_by_rule
        else {}
    )
    return rule | {
        each.id: f"{each.model or 'a model'}: {each.name}"
        for each in finished_readings(run, rubric)
    }
