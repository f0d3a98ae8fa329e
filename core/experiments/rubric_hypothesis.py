"""A hypothesis about a rubric: rows with the answer yes are predicted better than rows with the answer no."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import pandas as pd

from core.audit.rubric import Rubric
from core.errors import InputError
from core.experiments.decision import DecisionUnit, decide, interval_by
from core.experiments.ledger import ON_LABELS, with_result
from core.scoring.rubric_worth import load_outcomes, rubric_worth
from core.scoring.run_scores import RunRows
from core.store import Cursor
from core.store.hypotheses import Entry
from core.texts import number_text

WorthMetric = Literal["hit_rate", "de", "dir"]
WORTH_METRICS: dict[str, str] = {"hit_rate": "hit rate", "de": "DE contribution", "dir": "DIR contribution"}


@dataclass(frozen=True, slots=True)
class WorthRule:
    """The rule that decides a hypothesis about a rubric.

    metric: its difference is rows with yes minus rows with no. unit: the resampled unit. smallest_effect: the smallest relevant
    difference, in the metric. Raise InputError for other values.
    """

    metric: WorthMetric = "hit_rate"
    unit: DecisionUnit = "two-way"
    smallest_effect: float = 0.05

    def __post_init__(self) -> None:
        for name, known in (("metric", WorthMetric), ("unit", DecisionUnit)):
            if getattr(self, name) not in get_args(known):
                raise InputError(
                    f"rule about a rubric: {name}: got {getattr(self, name)!r}, expected {', '.join(get_args(known))}"
                )
        if not 0 < self.smallest_effect < 1:
            raise InputError(
                f"rule about a rubric: smallest effect: got {self.smallest_effect}, expected a number between 0 and 1"
            )


def measure_rubric(db: Cursor, entry: Entry, rows: RunRows, rubric: Rubric, answers: tuple[pd.DataFrame, str]) -> Entry:
    """Return the result of a registration about a rubric on a run.

    entry: the registration with its run; answers: from `core.actions.readings.answers`, the readings of the run and their
    sources. Raise the InputErrors of `rubric_worth`, and InputError if the difference is undefined.
    """
    readings, made_by = answers
    rule = rule_of(entry)
    [worth] = rubric_worth(rows, load_outcomes(db, rows), [(rubric, readings)])
    found = worth.measures[rule.metric]
    change = interval_by(found.change, rule.unit)
    if change.estimate != change.estimate:
        raise InputError(
            f"{entry.name}: no {WORTH_METRICS[rule.metric]} of both sides, {worth.n_yes:,} rows answer {worth.answer} and "
            f"{worth.n_no:,} do not; expected labelled rows of both"
        )
    means = (number_text(each.value, ".3f") for each in (found.yes, found.no))
    scored = (
        f"{WORTH_METRICS[rule.metric]}, {' against '.join(means)}, {worth.answer} in {worth.n_yes:,} rows, not in {worth.n_no:,}"
    )
    judged = with_result(entry, change, decide(change, rule.smallest_effect))
    return replace(judged, measured_on=ON_LABELS, scored=f"{scored}, answered by {_maker(made_by)}")


def rule_of(entry: Entry) -> WorthRule:
    """Return the rule of a registration about a rubric."""
    values: dict[str, Any] = {key: getattr(entry, key) for key in ("metric", "unit", "smallest_effect")}
    return WorthRule(**values)


def _maker(made_by: str) -> str:
    return "its rule" if made_by == "rule" else f"the reading {made_by}"
