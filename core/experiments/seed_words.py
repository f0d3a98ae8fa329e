"""The noise of the judge, in words and as JSON: the variance of answers, and what averaging them gains."""

from __future__ import annotations

import math
from typing import Any

from core.experiments.seed_askings import JudgeNoise
from core.experiments.seed_noise import SeedNoise
from core.scoring.json_shapes import shape_shown
from core.scoring.sentences import interval_text
from core.stats.delong import Estimate
from core.texts import estimate_text


def judge_sentences(noise: SeedNoise) -> list[str]:
    """Return sentences on the variance of answers, and on the gain from averaging the answers of all askings."""
    sentences = []
    for name, each in noise.answers.items():
        if each is not None:
            sources = {"asking again": each.within_rows, "between rows": each.between_rows}
            sources |= {} if each.between_methods is None else {"between methods": each.between_methods}
            parts = ", ".join(f"{what} {_deviation_text(variance)}" for what, variance in sources.items())
            sentences.append(f"Standard deviation of {name}: {parts}.")
    if noise.gain is not None and not math.isnan(noise.gain.mean.change.value):
        change = interval_text(noise.gain.mean.change.shown, signed=True)
        sentences.append(f"Averaging the answers of {noise.asks} askings changes the mean score of one by {change}.")
    return sentences


def _deviation_text(variance: Estimate) -> str:
    """Return the root of a variance with its limits, 0 for one below 0."""
    estimate, low, high = (math.nan if math.isnan(end) else math.sqrt(max(end, 0.0)) for end in variance.shown.ends)
    return estimate_text(estimate, low, high)


def seeds_json(noise: SeedNoise) -> dict[str, Any]:
    """Return the noise from asking again as plain data."""
    return {
        "rows": noise.rows,
        "asks": noise.asks,
        "methods": list(noise.others),
        "answers": {
            name: None
            if each is None
            else {
                "within_rows": shape_shown(each.within_rows),
                "between_rows": shape_shown(each.between_rows),
                "between_methods": None if each.between_methods is None else shape_shown(each.between_methods),
            }
            for name, each in noise.answers.items()
        },
        "gain": None if noise.gain is None else shape_shown(noise.gain.mean.change),
    }


def askings_sentence(found: JudgeNoise) -> str:
    """Return a sentence on the compared rows, and on how often they were asked."""
    noise, runs = found.seeds, len(set(found.askings))
    left = f", {found.left_out:,} left out without an answer" if found.left_out else ""
    others = f" Beside {', '.join(noise.others)}." if noise.others else ""
    return (
        f"{noise.rows:,} rows of {found.run.name}{left}, asked {noise.asks} times under other seeds, in {runs} "
        f"run{'s' * (runs != 1)}.{others}"
    )


def askings_lines(found: JudgeNoise) -> list[str]:
    """Return `seeds` as lines."""
    return [askings_sentence(found), *judge_sentences(found.seeds)]


def askings_json(found: JudgeNoise) -> dict[str, Any]:
    """Return the JSON `seeds`: the noise from asking again, and the compared runs."""
    return {"run": found.run.name, "askings": list(found.askings), "left_out": found.left_out, **seeds_json(found.seeds)}
