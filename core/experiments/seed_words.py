"""The noise of the judge, in words and as JSON: the variance of answers."""

from __future__ import annotations

import math
from typing import Any

from core.experiments.seed_askings import JudgeNoise
from core.experiments.seed_noise import SeedNoise
from core.scoring.json_shapes import shape_shown
from core.stats.delong import Estimate
from core.texts import estimate_text


def judge_sentences(noise: SeedNoise) -> list[str]:
    """Return sentences on the variance of answers."""
    sentences = []
    for name, each in noise.answers.items():
        if each is not None:
            sources = {"asking again": each.within_rows, "between rows": each.between_rows}
            parts = ", ".join(f"{what} {_deviation_text(variance)}" for what, variance in sources.items())
            sentences.append(f"Standard deviation of {name}: {parts}.")
    return sentences


def _deviation_text(variance: Estimate) -> str:
    """Return the root of a variance with its limits, 0 for one below 0."""
    estimate, low, high = (math.nan if math.isnan(end) else math.sqrt(max(end, 0.0)) for end in variance.shown.ends)
    return estimate_text(estimate, low, high)


def askings_sentence(found: JudgeNoise) -> str:
    """Return a sentence on the compared rows, and on how often they were asked."""
    noise, runs = found.seeds, len(set(found.askings))
    left = f", {found.left_out:,} left out without an answer" if found.left_out else ""
    return (
        f"{noise.rows:,} rows of {found.run.name}{left}, asked {noise.asks} times under other seeds, in {runs} "
        f"run{'s' * (runs != 1)}."
    )


def askings_lines(found: JudgeNoise) -> list[str]:
    """Return `seeds` as lines."""
    return [askings_sentence(found), *judge_sentences(found.seeds)]


def askings_json(found: JudgeNoise) -> dict[str, Any]:
    """Return the JSON `seeds`: the compared runs, and the variance of their answers."""
    variances = {
        name: None if each is None else {source: shape_shown(getattr(each, source)) for source in ("within_rows", "between_rows")}
        for name, each in found.seeds.answers.items()
    }
    return {
        "run": found.run.name,
        "askings": list(found.askings),
        "left_out": found.left_out,
        "rows": found.seeds.rows,
        "asks": found.seeds.asks,
        "answers": variances,
    }
