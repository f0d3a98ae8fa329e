"""A run's score between what knows no biology and what a replicate of its screen reaches, and the words for it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from core.errors import InputError
from core.scoring.run_scores import RunRows, count_rows
from core.stats.score_scale import RESAMPLES, ScaledScore, scaled_scores
from core.stats.scores_and_labels import Scores
from core.texts import NO_BIOLOGY, estimate_text, number_text


@dataclass(frozen=True, slots=True)
class RunScale:
    """replicate: its name. n: the rows that it and the run have labels of. de, dir: the questions."""

    replicate: str
    n: int
    de: ScaledScore
    dir: ScaledScore


def scale_run(rows: RunRows, replicate: str, scores: Scores, seed: int = 0) -> RunScale:
    """Return a run's score on the scale. scores: what the replicate says of every row of the dataset, NaN where nothing.

    All three are scored on the same rows, inside the same cells. Raise InputError without a common labelled row.
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
    """Return the scale in words, one line for each question."""
    lines = [f"on the scale from the {NO_BIOLOGY} (0) to replicate {found.replicate} (1), {found.n:,} rows that both have:"]
    for name, part in (("DE", found.de), ("DIR", found.dir)):
        ends = f"run {number_text(part.score)}, no biology {number_text(part.floor)}, replicate {number_text(part.ceiling)}"
        if math.isnan(part.value):
            lines.append(f"{name:5} no scale: the replicate is not above what knows no biology ({ends})")
        else:
            value = estimate_text(part.value, part.low, part.high, ".2f")
            lines.append(f"{name:5} {value}  ({ends}; bootstrap of perturbations, {RESAMPLES} resamples)")
    return lines


def scale_shape(found: RunScale) -> dict[str, Any]:
    """Return the scale as `score --json` has it."""
    return {"replicate": found.replicate, "n": found.n, "de": asdict(found.de), "dir": asdict(found.dir)}
