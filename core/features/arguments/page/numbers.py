"""The numbers of a rubric in the tabs Rubrics and Worth, cached until the run, its readings or its
labels change.

judged_by: "rule", or the id of a reading by a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.features.arguments import readings, rubric_tables
from core.features.arguments.rates import RULE, RubricRates, load_rates
from core.features.arguments.rubric import Rubric
from core.features.arguments.worth import RubricWorth, load_outcomes, rubric_worth
from core.ui.loaders.cache import cache_by, reading
from core.ui.loaders.scores import scored_rows
from core.ui.server_workspace import read_workspace

if TYPE_CHECKING:
    import pandas as pd


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
