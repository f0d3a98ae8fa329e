"""Measure the difference that decides a hypothesis from two runs, and judge it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime

from core.errors import InputError, StateError
from core.experiments.decision import METRICS, DecisionRule, PublicChange, decide, decide_public, interval_by
from core.experiments.ledger import ON_LABELS, ON_PUBLIC, with_result
from core.scoring.compare_runs import compare_runs, pair_runs
from core.scoring.public_noise import PUBLIC_SHARE
from core.scoring.run_scores import RunRows, load_scored_rows
from core.stats.comparison import Difference
from core.stats.intervals import normal_interval
from core.stats.power import PublicPart, detectable_difference, public_change_noise
from core.store.hypotheses import Entry
from core.store.runs import Run

__all__ = [
    "PublicPair",
    "load_scored_rows",
    "measure",
    "measure_difference",
    "measure_public",
    "refuse_other_level",
    "result_was_there",
]

_NOISE_SEED = 0


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
            "runs that answer its question on rows with both classes of labels, or public scores of both"
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


@dataclass(frozen=True, slots=True)
class PublicPair:
    """Two runs with public scores. n_unlabelled: unlabelled rows in their dataset; a leaderboard scores half of them."""

    a: Run
    b: Run
    n_unlabelled: int


def measure_public(entry: Entry, rule: DecisionRule, pair: PublicPair, noise: tuple[RunRows, RunRows]) -> Entry:
    """Return the result of two public scores.

    Two similar labelled runs give the smallest detectable difference. noise: the labelled runs; their paired difference is
    resampled with the leaderboard's number of rows. Raise StateError if a run has no public score. Raise InputError for a rule
    on DE or DIR, or if the noise cannot be computed.
    """
    a, b = pair.a, pair.b
    refuse_other_level(rule, b.name, b.method)
    if rule.metric != "mean":
        raise InputError(f"{entry.name}: its rule is on {rule.metric}, but a leaderboard publishes only the mean of DE and DIR")
    if a.public_score is None or b.public_score is None:
        lacking = ", ".join(run.name for run in (a, b) if run.public_score is None)
        raise StateError(
            f"{lacking}: no public score is recorded; expected one of both runs (perturbdesk runs set RUN public_score=…)"
        )
    rows = round(PUBLIC_SHARE * pair.n_unlabelled)
    if rows < 1:
        raise StateError(f"{a.name}: its dataset has no row without a label, so no leaderboard half")
    se = _public_se(noise, rows, rule)
    change = normal_interval(b.public_score - a.public_score, se**2, rows, rule.unit, "simulated public halves", (-1.0, 1.0))
    decision = decide_public(PublicChange(change, detectable_difference(se), rows), rule.smallest_effect)
    judged = with_result(entry, change, decision)
    return replace(judged, measured_on=ON_PUBLIC, score_a=a.public_score, score_b=b.public_score)


def _public_se(noise: tuple[RunRows, RunRows], rows: int, rule: DecisionRule) -> float:
    paired = pair_runs(*noise)
    part = PublicPart(rows, rule.unit, _NOISE_SEED)
    found = public_change_noise(paired.a.labels, paired.a.scores, paired.b.scores, part, paired.a.pert, paired.a.gene)
    if not found.se > 0:
        raise InputError(
            f"{paired.a.run.name} and {paired.b.run.name}: the noise of their difference is not defined; expected two runs "
            "with labels that differ"
        )
    return found.se


def result_was_there(a: Run, b: Run, registered_at: datetime) -> bool:
    """Return whether both runs had ended when the hypothesis was registered. registered_at: local time, like all times of a
    run.
    """
    return has_ended_by(a, registered_at) and has_ended_by(b, registered_at)


def has_ended_by(run: Run, moment: datetime) -> bool:
    """Return whether the answers of a run existed at a moment (local time, like all times of a run)."""
    return _end_time(run) <= moment


def _end_time(run: Run) -> datetime:
    """Return the time when the answers of a run were complete."""
    if run.finished_at is not None:
        return run.finished_at
    return datetime.max if run.created_at is None or run.status != "done" else run.created_at
