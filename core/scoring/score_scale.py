"""A run's score between the baselines without biology and what a replicate of its screen reaches, and the words for it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from core.errors import InputError
from core.scoring.run_scores import RunRows, count_rows
from core.stats.official_score import LEAST_SHARE, RESAMPLES, ScaledScore, scaled_scores
from core.stats.scores_and_labels import Scores
from core.texts import NO_BIOLOGY, estimate_text, number_text

NARROW = 0.05  # an AUROC between the scale's ends below which a hundredth of AUROC moves the value by a fifth or more


@dataclass(frozen=True, slots=True)
class RunScale:
    """replicate: its name. n: the rows that it and the run have labels of. de, dir: the questions."""

    replicate: str
    n: int
    de: ScaledScore
    dir: ScaledScore


def scale_run(rows: RunRows, replicate: str, scores: Scores, seed: int = 0) -> RunScale:
    """Return a run's score on the scale.

    scores: the replicate's scores of every row of the dataset, NaN if missing. All three are scored on the same rows, inside
    the same cells. Raise InputError without a common labelled row.
    """
    own = scores.take(rows.positions)
    common = rows.arrays.outcome.labelled & ~np.isnan(own.p_de)
    if not common.any():
        raise InputError(f"replicate {replicate}: no labelled row of {rows.run.name} is in it; expected the same pairs")
    taken = rows.take(common)
    arms = (taken.scores, count_rows(taken).scores, own.take(common))
    de, direction = scaled_scores(taken.arrays.outcome, arms, taken.pert, taken.cells, seed)
    return RunScale(replicate, int(common.sum()), de, direction)


def scale_sentences(found: RunScale) -> list[str]:
    """Describe the scale in one line for each question."""
    lines = [f"on the scale from the {NO_BIOLOGY} (0) to replicate {found.replicate} (1), {found.n:,} rows that both have:"]
    for name, part in (("DE", found.de), ("DIR", found.dir)):
        ends, warning = ends_text(part), caution(part)
        if math.isnan(part.value):
            lines.append(f"{name:5} no scale: {warning} ({ends})")
        else:
            value = estimate_text(part.value, part.low, part.high, ".2f")
            lines.append(f"{name:5} {value}  ({ends}; bootstrap of perturbations, {RESAMPLES} resamples)")
            lines += [f"      {warning}"] if warning else []
    return lines


def ends_text(part: ScaledScore) -> str:
    """Return a text with the three AUROCs of a scale."""
    return f"run {number_text(part.score)}, no biology {number_text(part.floor)}, replicate {number_text(part.ceiling)}"


def caution(part: ScaledScore) -> str:
    """Return why a value on the scale is uninformative; "" if it is informative."""
    if math.isnan(part.value):
        return "the replicate is not above the baselines without biology"
    if math.isnan(part.low):
        return f"no interval: in fewer than {LEAST_SHARE:.0%} of resamples the replicate is above the baselines without biology"
    span = part.ceiling - part.floor
    if span >= NARROW:
        return ""
    return f"the replicate is only {span:.3f} above the baselines without biology: 0.01 of AUROC is {0.01 / span:.2f} here"


def scale_shape(found: RunScale) -> dict[str, Any]:
    """Return the scale as `score --json` has it."""
    parts = {name: asdict(part) | {"caution": caution(part)} for name, part in (("de", found.de), ("dir", found.dir))}
    return {"replicate": found.replicate, "n": found.n, **parts}
