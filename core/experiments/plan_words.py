"""A plan as JSON and in words."""

from __future__ import annotations

from typing import Any

from core.experiments.planning import ArmPlan, BenchmarkPlan, Size


def plan_json(found: BenchmarkPlan) -> dict[str, Any]:
    """Return the JSON `plan`: rows and tokens of each comparison."""
    spec = found.spec
    return {
        "name": spec.name,
        "primary": spec.primary,
        "smallest_effect": spec.smallest_effect,
        "power": spec.plan.power,
        "available": _size(found.available),
        "comparisons": [_arm(each, found.available) for each in found.arms],
    }


def _arm(plan: ArmPlan, available: Size) -> dict[str, Any]:
    needed = plan.needed_rows
    return {
        "arm": plan.arm,
        "against": plan.control,
        "basis": plan.basis,
        **_size(plan.size),
        "detectable": plan.detectable,
        "rows_needed": needed,
        "enough_rows_here": needed is not None and needed <= available.rows,
        "tokens": plan.tokens,
        "tokens_needed": plan.needed_tokens,
    }


def _size(size: Size) -> dict[str, int]:
    return {"rows": size.rows, "perturbations": size.perts, "genes": size.genes}


def plan_lines(found: BenchmarkPlan) -> list[str]:
    """Return the plan of every comparison in words."""
    return [sentence for plan in found.arms for sentence in plan_sentences(found, plan)]


def plan_sentences(found: BenchmarkPlan, plan: ArmPlan) -> list[str]:
    """Return sentences on the effect detectable with the present rows, the needed rows, and the cost."""
    spec = found.spec
    what = "the mean" if spec.primary == "mean" else spec.primary
    sees = "are enough for" if plan.detectable <= spec.smallest_effect else "do not show"
    unknown = f"The noise of {' and '.join(plan.unknown_noise)} is unknown and counts as none."
    return [
        f"{plan.arm} against {plan.control}: {plan.size.rows:,} rows ({plan.size.perts:,} perturbations, {plan.size.genes:,} "
        f"genes) show a change of {what} of {plan.detectable:.3f} or more with {spec.plan.power:.0%} power. They {sees} the "
        f"required {spec.smallest_effect:g}.",
        f"Variances are from {plan.basis}.",
        *([unknown] if plan.unknown_noise else []),
        _rows_sentence(plan, found.available, spec.plan.power),
        _tokens_sentence(plan),
    ]


def _rows_sentence(plan: ArmPlan, available: Size, power: float) -> str:
    needed = plan.needed_rows
    if needed is None:
        return "No number of rows shows it, because the noise of cuts and seeds alone is larger. Use more of them first."
    if needed > available.rows:
        return f"It takes about {needed:,} rows; the dataset has {available.rows:,} labelled rows, too few for it."
    return (
        f"It takes about {needed:,} of the {available.rows:,} labelled rows. Then, in {power:.0%} of experiments, a missing "
        "effect is rejected and the smallest effect is detected."
    )


def _tokens_sentence(plan: ArmPlan) -> str:
    if plan.tokens is None:
        return "Tokens are unknown before this method's first call with this model."
    if plan.tokens == 0:
        return "It costs no tokens."
    more = "" if plan.needed_tokens is None else f"; the needed number of rows, about {plan.needed_tokens:,.0f}"
    return f"About {plan.tokens:,.0f} tokens for all cuts and seeds, including cached answers{more}."
