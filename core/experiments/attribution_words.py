"""The result of an attribution, in words and as JSON: first the tools that moved the answers, then the noise floor."""

from __future__ import annotations

import math
from typing import Any

from core.engine.request import Expectation, money_text
from core.experiments.attribution import Attribution, Movement, ToolEffect
from core.scoring import json_shapes
from core.scoring.sentences import interval_text
from core.texts import number_text

_MINUTE_S = 60.0


def cost_sentence(cost: Expectation, runs: int, rows: int) -> str:
    """Return a sentence on the expected cost of the remaining runs."""
    if not runs:
        return "Every run is done: no new calls are needed."
    parts = [f"{runs:,} run{'s' * (runs != 1)} of {rows:,} row{'s' * (rows != 1)}: about {cost.calls:,} calls"]
    if cost.prompt_tokens is None or cost.completion_tokens is None or cost.seconds is None:
        parts.append("tokens and time are unknown before this method's first run with this model")
    else:
        parts.append(f"about {cost.prompt_tokens:,.0f} + {cost.completion_tokens:,.0f} tokens")
        minutes = math.ceil(cost.seconds / _MINUTE_S)
        parts.append(f"about {minutes:,} minute{'s' * (minutes != 1)}")
    if cost.money is not None:
        parts.append(money_text(cost.money))
    return f"{', '.join(parts)}. Cached answers cost nothing."


def verdict_sentence(found: Attribution) -> str:
    """Return a sentence on the tools that move the answers more than asking again, after Holm."""
    confirmed = [each.name for each in found.tools if each.is_confirmed]
    floor = f"asking again moves them by {interval_text(found.floor.both.shown)}"
    if not confirmed:
        return f"No tool moves the answers more than asking again does: {floor}."
    s = "s" * (len(confirmed) == 1)
    return f"{', '.join(confirmed)} move{s} the answers more than asking again does: {floor}."


def tool_sentence(each: ToolEffect, found: Attribution) -> str:
    """Return a sentence on the effect of leaving out one tool, and whether it exceeds the noise."""
    verdict = "confirmed" if each.is_confirmed else "not confirmed"
    covered = "inside the noise floor" if found.is_covered(each) else "above the noise floor"
    moved, p, adjusted = interval_text(each.movement.both.shown), number_text(each.test.p, ".4f"), number_text(each.p_holm, ".4f")
    return f"Without {each.name}: mean |Δ| {moved}, {covered}; one-sided p {p}, after Holm {adjusted}: {verdict}."


def method_sentence(found: Attribution) -> str:
    """Return sentences on the questions and on the test."""
    spec, test = found.spec, found.tools[0].test
    patterns = f"all {test.flips:,}" if test.exact else f"{test.flips:,} random"
    rows = f"{len(spec.rows):,} rows of {spec.name}, asked again {spec.repeats} times unchanged and without each tool"
    left = f"; {found.left_out:,} rows with unreadable answers left out" if found.left_out else ""
    return (
        f"{rows}{left}. |Δ| is the mean of |ΔP(DE)| and |ΔP(up | DE)| from the original answer. The p-value is "
        f"one-sided, by {patterns} patterns of signs of whole perturbations."
    )


def attribution_lines(found: Attribution) -> list[str]:
    """Return the whole report as lines."""
    ordered = sorted(found.tools, key=lambda each: -each.movement.both.value)
    tokens = "unknown" if found.tokens is None else f"{found.tokens:,}"
    return [
        verdict_sentence(found),
        *(tool_sentence(each, found) for each in ordered),
        method_sentence(found),
        f"Tokens of all runs: {tokens}.",
    ]


def attribution_json(found: Attribution) -> dict[str, Any]:
    """Return the JSON `attribute`: every tool, the noise floor, and the runs."""
    spec = found.spec
    return {
        "run": spec.name,
        "rows": len(spec.rows),
        "left_out": found.left_out,
        "repeats": spec.repeats,
        "tools": [_tool(each, found) for each in found.tools],
        "noise_floor": _movement(found.floor),
        "runs": [{"without": arm.tool or None, "repeat": arm.repeat, "run": run} for arm, run in found.runs.items()],
        "tokens": found.tokens,
    }


def _tool(each: ToolEffect, found: Attribution) -> dict[str, Any]:
    return {
        "name": each.name,
        **{name: value for name, value in json_shapes.changes(each.scores).items() if name.startswith("delta")},
        **_movement(each.movement),
        "noise_floor": json_shapes.shape_shown(each.floor.both),
        "p": each.test.p,
        "p_holm": each.p_holm,
        "confirmed": each.is_confirmed,
        "covered": found.is_covered(each),
        "rows": each.rows,
        "test": {"clusters": each.test.clusters, "flips": each.test.flips, "exact": each.test.exact},
    }


def _movement(found: Movement) -> dict[str, Any]:
    return {
        "mean_abs_delta": json_shapes.shape_shown(found.both),
        "mean_abs_p_de": json_shapes.shape_shown(found.de),
        "mean_abs_p_up": json_shapes.shape_shown(found.up),
    }
