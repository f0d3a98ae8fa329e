"""A run as three classes: one-vs-rest AUROCs, log-loss, Brier score, the decision curve, and hits per hundred validated rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.scoring.json_shapes import interval, shape_shown
from core.scoring.run_scores import RunRows
from core.scoring.sentences import SIDE_WORDS, TWO_WAY, interval_text
from core.stats.decision_curve import NetBenefit, decision_curve
from core.stats.three_classes import (
    CLASSES,
    ClassAurocs,
    ClassLoss,
    brier_score,
    class_aurocs,
    class_probabilities,
    classes_of,
    directed_hits,
    log_loss,
)
from core.stats.top_k import TopK, precision_at
from core.stats.verdicts import side_of
from core.texts import estimate_text, number_text

VALIDATED = (20, 50, 100, 200, 500)  # rows validated in a follow-up screen
RANKS = "Rank scores are not probabilities, so log-loss, Brier score and decision curve are undefined."


@dataclass(frozen=True, slots=True)
class ClassScores:
    """A run's scores as three classes.

    n: rows whose class is known. log_loss, brier: None for rank scores. impossible: rows of a class that had probability 0.
    curve: of P(DE), empty for rank scores. effects: precision among the rows with the highest P(DE); directed: precision among
    the rows with the highest probability of one direction, where only that direction counts as a hit.
    """

    n: int
    aurocs: ClassAurocs
    log_loss: ClassLoss | None
    brier: ClassLoss | None
    impossible: int
    curve: tuple[NetBenefit, ...]
    effects: tuple[TopK, ...]
    directed: tuple[TopK, ...]


def score_classes(rows: RunRows, validated: Sequence[int] = VALIDATED) -> ClassScores:
    """Return a run's scores as three classes; AUROCs and hits are computed inside the cells in which the run is scored."""
    arrays = rows.arrays
    given = class_probabilities(rows.frame["prediction_up"], rows.frame["prediction_down"])
    known, happened = classes_of(arrays.outcome)
    ranks, labelled = rows.run.has_rank_scores, arrays.outcome.labelled
    inside = arrays.take(labelled)
    return ClassScores(
        n=int(known.sum()),
        aurocs=class_aurocs(arrays, given),
        log_loss=None if ranks else log_loss(arrays, given),
        brier=None if ranks else brier_score(arrays, given),
        impossible=0 if ranks else int(((given == 0) & happened).sum()),
        curve=()
        if ranks
        else decision_curve(inside.outcome.effect, (given[:, 0] + given[:, 1])[labelled].clip(0, 1), inside.pert, inside.gene),
        effects=precision_at(arrays, validated)[0],
        directed=directed_hits(arrays, given, validated),
    )


def class_sentences(found: ClassScores) -> list[str]:
    """Return one sentence for each score."""
    if not found.n:
        return ["No row has a known class, so there is no score."]
    each = ", ".join(f"{name} {number_text(getattr(found.aurocs, name).value)}" for name in CLASSES)
    lines = [
        f"macro one-vs-rest AUROC {interval_text(found.aurocs.macro.shown)} ({each}), "
        f"{found.n:,} rows labelled up, down or none, {TWO_WAY}",
        "here up and down are each compared with all other rows, not only with rows that have an effect",
    ]
    if found.log_loss is None or found.brier is None:
        lines.append(RANKS)
    else:
        lines += [_loss_line("log-loss", found.log_loss), _loss_line("Brier score", found.brier)]
        if found.impossible:
            lines.append(f"{found.impossible:,} rows are of a class that had probability 0; it counts as 2.2e-16 in the log-loss")
        lines.append(curve_sentence(found.curve))
    return [*lines, *hit_lines(found)]


def _loss_line(name: str, found: ClassLoss) -> str:
    return (
        f"{name} {interval_text(found.loss.shown)}; the classes' shares alone {number_text(found.of_shares)}: "
        f"{SIDE_WORDS[side_of(found.gain.shown)]}, gain {interval_text(found.gain.shown, signed=True)}"
    )


def curve_sentence(curve: Sequence[NetBenefit]) -> str:
    """At which thresholds acting on P(DE) is worth more than validating all rows, or none."""
    useful = [one.threshold for one in curve if one.is_useful]
    if not useful:
        return "At no threshold of P(DE) is selecting rows shown to be better than validating all rows or none."
    return (
        f"From P(DE) {min(useful):.2f} to {max(useful):.2f}, {len(useful)} of {len(curve)} thresholds are shown to be better "
        "than validating all rows or none."
    )


def hit_lines(found: ClassScores) -> list[str]:
    """Return how many of a hundred validated rows are hits, at each number of rows."""
    return [
        f"of the top {any_effect.k:,}: {per_hundred(any_effect)} hits per hundred validated, "
        f"{per_hundred(directed)} in the predicted direction"
        for any_effect, directed in zip(found.effects, found.directed, strict=True)
        if not math.isnan(any_effect.precision.value)
    ]


def per_hundred(found: TopK) -> str:
    """Return hits per hundred validated rows, with their interval."""
    estimate, low, high = (100 * end for end in found.precision.shown.ends)
    return estimate_text(estimate, low, high, ".0f")


def class_shape(found: ClassScores) -> dict[str, Any]:
    """Return `score-classes --json`."""
    return {
        "n": found.n,
        "auroc": {name: shape_shown(getattr(found.aurocs, name)) for name in ("macro", *CLASSES)},
        "log_loss": _loss_shape(found.log_loss),
        "brier": _loss_shape(found.brier),
        "impossible": found.impossible,
        "decision_curve": [
            {
                "threshold": one.threshold,
                "chosen": one.chosen,
                "net_benefit": shape_shown(one.benefit),
                "everything": one.everything,
                "over_everything": shape_shown(one.over_everything),
                "useful": one.is_useful,
            }
            for one in found.curve
        ],
        "hits_per_hundred": [
            {"validated": effect.k, "effect": _hits(effect), "direction": _hits(directed)}
            for effect, directed in zip(found.effects, found.directed, strict=True)
        ],
    }


def _hits(found: TopK) -> dict[str, Any] | None:
    shown = interval(found.precision.shown)
    if shown is None:
        return None
    return {name: 100 * value for name, value in shown.items()} | {"base_rate": 100 * found.base_rate}


def _loss_shape(found: ClassLoss | None) -> dict[str, Any] | None:
    if found is None or math.isnan(found.loss.value):
        return None
    return {**(shape_shown(found.loss) or {}), "of_shares": found.of_shares, "gain": shape_shown(found.gain)}
