"""The noise of the judge, in words, as a table and as JSON: the variance of answers, and the value of seeds."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from core.experiments.seed_askings import JudgeNoise
from core.experiments.seed_noise import ENOUGH, METRICS, SEEDS, ScoreNoise, SeedNoise
from core.scoring import json_shapes
from core.scoring.sentences import interval_text
from core.texts import number_text, quantity_text, table_lines

AVERAGED = "mean score of averaged answers"


def judge_sentences(noise: SeedNoise) -> list[str]:
    """Return sentences on the variance of answers, and on the number of seeds worth their tokens."""
    sentences = []
    for name, each in noise.answers.items():
        if not math.isnan(each.within_rows):
            sds = [("asking again", each.within_rows), ("between rows", each.between_rows)]
            sds += [] if math.isnan(each.between_methods) else [("between methods", each.between_methods)]
            parts = ", ".join(f"{what} {number_text(math.sqrt(variance))}" for what, variance in sds)
            sentences.append(f"Standard deviation of {name}: {parts}.")
    mean = noise.scores["mean"]
    if math.isnan(mean.share):
        unknown = "The value of seeds for the score is unknown: too few of these rows have labels of both classes."
        return [*sentences, unknown, *_gain_sentences(noise)]
    sentences.append(f"More seeds could remove {mean.share:.0%} of the squared error of the mean score.")
    return [*sentences, _worth(mean), *_gain_sentences(noise)]


def _worth(mean: ScoreNoise) -> str:
    if mean.enough is None:
        return f"Even {SEEDS[-1]} seeds leave a standard error more than {ENOUGH - 1:.0%} above the limit for many seeds."
    if mean.enough == 1:
        return f"One seed is enough: its standard error is within {ENOUGH - 1:.0%} of the limit for many seeds."
    return f"{mean.enough} seeds are worth their tokens: more seeds reduce the standard error by {ENOUGH - 1:.0%} at most."


def _gain_sentences(noise: SeedNoise) -> list[str]:
    """Return sentences on the gain from averaging the answers of all askings, and on the cost per point; shown, not tested."""
    if noise.gain is None or math.isnan(noise.gain.mean.change.value):
        return []
    change = interval_text(noise.gain.mean.change.shown, signed=True)
    found = f"Averaging the answers of {noise.asks} askings changes the mean score of one by {change}."
    cost = noise.tokens_per_point
    if math.isnan(cost):
        return [found]
    return [f"{found} One point (0.010) of the mean score costs about {quantity_text(cost)} tokens."]


def seeds_json(noise: SeedNoise) -> dict[str, Any]:
    """Return the noise from asking again as plain data."""
    return {
        "rows": noise.rows,
        "asks": noise.asks,
        "methods": list(noise.others),
        "answers": {name: asdict(each) for name, each in noise.answers.items()},
        "scores": {
            name.lower(): {
                "share_of_seeds": each.share,
                "seeds": [{"seeds": k, "se": each.se(k), "tokens": _tokens(noise, k)} for k in SEEDS],
                "enough": each.enough,
            }
            for name, each in noise.scores.items()
        },
        "averaged": [
            {"seeds": k, **{name.lower(): value for name, value in scores.items()}} for k, scores in noise.averaged.items()
        ],
        "gain": None if noise.gain is None else json_shapes.shape_shown(noise.gain.mean.change),
        "tokens_per_point": noise.tokens_per_point,
    }


def _tokens(noise: SeedNoise, seeds: int) -> float | None:
    return None if noise.tokens is None else noise.tokens * seeds


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
    """Return `seeds` as lines, with the table of numbers of seeds."""
    return [askings_sentence(found), *judge_sentences(found.seeds), *table_lines(seed_table(found.seeds))]


def askings_json(found: JudgeNoise) -> dict[str, Any]:
    """Return the JSON `seeds`: the noise from asking again, and the compared runs."""
    return {"run": found.run.name, "askings": list(found.askings), "left_out": found.left_out, **seeds_json(found.seeds)}


def seed_table(noise: SeedNoise) -> list[dict[str, Any]]:
    """Return one line per number of seeds: the standard errors of DE, DIR and their mean, the mean score, and the tokens.

    The mean score is for answers averaged over this many seeds (NaN for more seeds than available).
    """
    return [
        {
            "seeds": k,
            **{f"SE of {name}": noise.scores[name].se(k) for name in METRICS},
            AVERAGED: noise.averaged.get(k, {}).get("mean", math.nan),
            "tokens": None if noise.tokens is None else round(noise.tokens * k),
        }
        for k in SEEDS
    ]
