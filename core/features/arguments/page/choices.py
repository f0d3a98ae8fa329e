"""Arguments: the choice of a rubric and of whose answers are shown, which links contain; and the
texts, labels and numbers of a rubric, cached until the run, its readings or its labels change.

judged_by: "rule", or the id of a reading by a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.features.arguments import labels, readings, rubric_tables
from core.features.arguments.rates import RULE, RubricRates, load_rates
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import KINDS
from core.features.arguments.worth import RubricWorth, load_outcomes, rubric_worth
from core.runs.workspace import Workspace
from core.store.runs import Run
from core.ui.linked import choose_one
from core.ui.loaders.cache import cache_by, from_store, reading
from core.ui.loaders.records import all_runs, text_counts
from core.ui.loaders.scores import scored_rows
from core.ui.server_workspace import read_workspace

if TYPE_CHECKING:
    import pandas as pd


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
    known = {rubric.name: rubric for rubric in readings.list_rubrics(workspace)}
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


samples_of = cache_by("run:{1}", "labels")(from_store(rubric_tables.samples))
labels_of = cache_by("run:{1}", "labels")(from_store(rubric_tables.labels))


@cache_by("run:{0}", entries=4, shared=True)
def texts_by_place(
    run: str, rubric: Rubric, pair_ids: Sequence[str]
) -> Mapping[tuple[str, int], Mapping[str, str]]:
    """Return (pair_id, seq) → pert, gene, stage, role, content, for the texts of these rows that a
    rubric asks about."""
    with reading() as db:
        found: pd.DataFrame = rubric_tables.texts(db, run, rubric, pair_ids)
    columns = found[["pert", "gene", "stage", "role", "content"]].to_dict("records")
    keys = zip(found["pair_id"], found["seq"].astype(int), strict=True)
    return {
        key: {str(name): str(value) for name, value in row.items()}
        for key, row in zip(keys, columns, strict=True)
    }


@cache_by("run:{0}", "runs", entries=40, shared=True)
def answers(run: str, rubric: Rubric, judged_by: str) -> pd.DataFrame:
    """Return the judge's answers about a run's texts: the columns of `store.rubrics.readings`."""
    judge: tuple[readings.Judge, str | None] = (
        ("rule", None) if judged_by == RULE else ("model", judged_by)
    )
    return readings.answers(read_workspace(), rubric, run, *judge)[0]


@cache_by("run:{0}", "runs", "labels", entries=20, shared=True)
def rates(run: str, rubric: Rubric, judged_by: str, answer: str) -> RubricRates | None:
    """Return the rates of an answer by role; None if it has no text to answer for."""
    read = answers(run, rubric, judged_by)
    with reading() as db:
        return load_rates(db, rubric, run, read, judged_by, answer)


@cache_by("run:{0}", "runs", "datasets", entries=10, shared=True)
def worth(run: str, judged: tuple[tuple[Rubric, str], ...]) -> RubricWorth:
    """Return what rubrics are worth on a run, all tested together."""
    rows = scored_rows(run)
    said = [(rubric, answers(run, rubric, judged_by)) for rubric, judged_by in judged]
    with reading() as db:
        outcomes = load_outcomes(db, rows)
    return rubric_worth(rows, outcomes, said)


@cache_by("run:{0}", "runs", entries=20, shared=True)
def texts_with(run: str, rubric: Rubric, judged_by: str, answer: str) -> pd.DataFrame:
    """Return the texts of a run to which the judge gave an answer: pair_id, pert, gene, seq, role,
    p, passage, content.

    passage: the part of the text that decided the answer; "" if none was marked.
    """
    said = answers(run, rubric, judged_by)
    said = said if "passage" in said else said.assign(passage="")  # a rule marks none
    chosen = said.loc[said["answer"] == answer, ["pair_id", "seq", "p", "passage"]]
    with reading() as db:
        texts = rubric_tables.texts(db, run, rubric)
    found: pd.DataFrame = texts.merge(chosen, on=["pair_id", "seq"])
    return found[["pair_id", "pert", "gene", "seq", "role", "p", "passage", "content"]]
