"""Measure the difference that decides a hypothesis from two runs, and judge it."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime

from core.errors import InputError
from core.experiments.decision import METRICS, DecisionRule, decide, interval_by
from core.experiments.ledger import ON_LABELS, with_result
from core.scoring.compare_runs import compare_runs
from core.scoring.run_scores import RunRows, load_scored_rows
from core.stats.comparison import Difference
from core.store.hypotheses import Entry
from core.store.runs import Run

__all__ = ["load_scored_rows", "measure", "measure_difference", "refuse_other_level", "result_was_there"]


def refuse_other_level(rule: DecisionRule, name: str, method: str | None) -> None:
    """Raise InputError if the method of the tested run or arm has another level than the rule."""
    wrong = {"fused": "knn", "embedding": "fusion"}.get(rule.level)
    if method is not None and method == wrong:
        raise InputError(
            f"{name}: of the method {method}, but the rule is about the level {rule.level!r}. "
            "Expected a run at that level, or another hypothesis"
        )


def measure(entry: Entry, rule: DecisionRule, a: RunRows, b: RunRows) -> Entry:
    """Return the result of run b against run a on the labelled rows that both cover.

    entry: the known fields of the result. Raise the InputErrors of `compare_runs`, and InputError for runs without labels.
    """
    refuse_other_level(rule, b.run.name, b.run.method)
    found = compare_runs(a, b)
    return measure_difference(replace(entry, scored=found.scored), rule, getattr(found.covered, rule.metric))


def measure_difference(entry: Entry, rule: DecisionRule, difference: Difference) -> Entry:
    """Return the result of a difference, in the rule's metric, on labelled rows. Raise InputError if it is undefined."""
    if math.isnan(difference.change.value):
        raise InputError(
            f"{entry.name_a} and {entry.name_b}: no {METRICS[rule.metric]} on the rows that both cover, so no result. Expected "
            "runs that answer its question on rows with both classes of labels"
        )
    change = interval_by(difference.change, rule.unit)
    judged = with_result(entry, change, decide(change, rule.smallest_effect))
    return replace(
        judged,
        measured_on=ON_LABELS,
        score_a=difference.a.value,
        score_b=difference.b.value,
        score_se=interval_by(difference.b, rule.unit).se,
    )


def result_was_there(a: Run, b: Run, registered_at: datetime) -> bool:
    """Return whether both runs had ended when the hypothesis was registered. registered_at: local time, like all times of a
    run.
    """
    return max(_end_time(a), _end_time(b)) <= registered_at


def _end_time(run: Run) -> datetime:
    """Return the time when the answers of a run were complete."""
    if run.finished_at is not None:
        return run.finished_at
    return datetime.max if run.created_at is None or run.status != "done" else run.created_at
