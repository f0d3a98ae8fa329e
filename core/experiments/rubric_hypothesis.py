"""A hypothesis about a rubric: rows with the answer yes are predicted better than rows with the answer no."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import pandas as pd

from core.audit.rubric import Rubric
from core.errors import InputError
from core.experiments.decision import (
    DecisionRule,
    DecisionUnit,
    Level,
    decide,
    deciding_level,
    interval_by,
    primary_metric,
    resampled_unit,
    smallest_difference,
)
from core.experiments.ledger import ON_LABELS, with_result
from core.fields.record import check_values, make, values_of
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

    metric: WorthMetric = primary_metric("hit_rate", WORTH_METRICS)
    unit: DecisionUnit = resampled_unit()
    smallest_effect: float = smallest_difference(0.05)

    def __post_init__(self) -> None:
        check_values(self)


@dataclass(frozen=True, slots=True)
class RuleRequest:
    """The rule of a hypothesis as a person asks for it, about two runs or about a rubric. metric: "" for the usual one."""

    metric: Literal["", "de", "dir", "mean", "hit_rate"] = primary_metric(
        "", command_help="The primary metric: by default the mean, hit_rate with --rubric."
    )
    level: Level = deciding_level()
    unit: DecisionUnit = resampled_unit()
    smallest_effect: float = smallest_difference(0.01)

    def about_runs(self) -> DecisionRule:
        """Return the rule about two runs. Raise InputError for a metric of rubrics."""
        return make(DecisionRule, {**values_of(self), "metric": self.metric or "mean"})

    def about_rubric(self) -> WorthRule:
        """Return the rule about a rubric. Raise InputError for a metric of runs."""
        return make(WorthRule, {"metric": self.metric or "hit_rate", "unit": self.unit, "smallest_effect": self.smallest_effect})


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
