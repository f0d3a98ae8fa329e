"""The worth of an argument: are predictions better in rows where the answer to a rubric is yes than where it is no? The judge's
answers are used without correction.

A difference is not a causal effect, because rows with such briefs may be easier anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.audit.rubric import Rubric
from core.errors import InputError
from core.scoring.run_scores import RunRows
from core.stats.arrays import Bools, Floats
from core.stats.group_contributions import GroupDifference, contribution_difference, mean_difference
from core.stats.multiplicity import AdjustedP, adjusted_p_values
from core.store import predictions
from core.store.connection import Cursor

MEASURES: Mapping[str, str] = {"hit_rate": "hit rate", "de": "DE contribution", "dir": "DIR contribution"}


@dataclass(frozen=True, slots=True)
class RubricWorth:
    """Rows whose answer is yes against those whose answer is no.

    answer: what counts as yes; unit: of the rubric. n_yes, n_no: rows; unread: rows of neither, since no text of theirs could be
    read, or they have none. measures, p: by the keys of `MEASURES`. hit_rate: the share of rows whose most probable call is
    the label; de, dir: the mean contribution to the AUROC (see `core.stats.group_contributions`). p is corrected for every
    measure of every rubric that was tried together.
    """

    rubric: str
    answer: str
    unit: str
    n_yes: int
    n_no: int
    unread: int
    measures: Mapping[str, GroupDifference]
    p: Mapping[str, AdjustedP]


def load_outcomes(db: Cursor, rows: RunRows) -> pd.Series:
    """Return the outcome of each row of a run, in the order of `rows`: "hit", "miss", or None without a label or a call."""
    return predictions.list_rows(db, rows.run.id, rows.frame["pair_id"].tolist())["outcome"]


def rows_with_answer(readings: pd.DataFrame, answer: str) -> pd.Series:
    """Return whether at least one text of a row has the answer, by pair_id, for rows with a readable text.

    readings: `store.rubrics.readings`.
    """
    read = readings[readings["answer"].fillna("") != ""]
    found: pd.Series = read["answer"].eq(answer).groupby(read["pair_id"]).any()
    return found


def rubric_worth(
    rows: RunRows, outcomes: pd.Series, readings: Sequence[tuple[Rubric, pd.DataFrame]], answer: str | None = None
) -> list[RubricWorth]:
    """Return what each rubric is worth on a run, in the order given.

    outcomes: see `load_outcomes`. readings: the judge's answers by rubric; answer: what counts as yes, the first of a rubric's
    answers by default. Raise InputError for a run without labels and for an answer that a rubric does not have.
    """
    if not rows.arrays.outcome.labelled.any():
        raise InputError(
            f"{rows.run.name}: none of its {len(rows):,} rows has a label, so hits and misses are unknown; expected labels"
        )
    hit: Floats = np.full(len(outcomes), np.nan)
    hit[outcomes.eq("hit")], hit[outcomes.eq("miss")] = 1.0, 0.0
    ids = rows.frame["pair_id"]
    found = []
    for rubric, said in readings:
        wanted = answer or rubric.answers[0]
        if wanted not in rubric.answers:
            raise InputError(f"rubric {rubric.name}: answer {wanted!r}, expected one of {', '.join(rubric.answers)}")
        answered = ids.map(rows_with_answer(said, wanted))
        yes, no = answered.eq(True).to_numpy(), answered.eq(False).to_numpy()
        found.append((rubric, wanted, yes, no, _measure(rows, hit, yes, no)))
    p_values = adjusted_p_values([each.change.shown for *_, measures in found for each in measures.values()])
    return [
        RubricWorth(
            rubric.name,
            wanted,
            rubric.unit,
            int(yes.sum()),
            int(no.sum()),
            int((~yes & ~no).sum()),
            measures,
            dict(zip(measures, p_values[len(MEASURES) * i :], strict=False)),
        )
        for i, (rubric, wanted, yes, no, measures) in enumerate(found)
    ]


def _measure(rows: RunRows, hit: Floats, yes: Bools, no: Bools) -> dict[str, GroupDifference]:
    de, direction = rows.arrays.tasks()
    return {
        "hit_rate": mean_difference(hit, yes, no, rows.pert, rows.gene),
        "de": contribution_difference(de, rows.cells, yes, no, rows.pert, rows.gene),
        "dir": contribution_difference(direction, rows.cells, yes, no, rows.pert, rows.gene),
    }
