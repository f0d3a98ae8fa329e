"""A plan as JSON and in words."""

from __future__ import annotations

import math
from typing import Any

from core.experiments.planning import ArmPlan, BenchmarkPlan, Size
from core.experiments.variance_components import SOURCES
from core.texts import table_lines


def plan_json(found: BenchmarkPlan) -> dict[str, Any]:
    """Return the JSON `plan`: rows, seeds and tokens of each comparison, and the sources of its variance."""
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
        "needs": [{"unit": each.unit, "se": each.se, "here": each.here, "needed": each.needed} for each in plan.needs],
        "rows_needed": needed,
        "enough_rows_here": needed is not None and needed <= available.rows,
        "cuts_needed": plan.cuts,
        "seeds_needed": plan.seeds,
        "tokens": plan.tokens,
        "tokens_needed": plan.needed_tokens,
        "components": {
            name: {"variance": getattr(plan.components, name), "share": share} for name, share in plan.components.shares.items()
        },
    }


def _size(size: Size) -> dict[str, int]:
    return {"rows": size.rows, "perturbations": size.perts, "genes": size.genes}


def plan_lines(found: BenchmarkPlan) -> list[str]:
    """Return the plan of every comparison in words, with its needs as a table."""
    lines: list[str] = []
    for plan in found.arms:
        lines += [*plan_sentences(found, plan), *table_lines(needs_table(plan)), ""]
    return lines[:-1]


def plan_sentences(found: BenchmarkPlan, plan: ArmPlan) -> list[str]:
    """Return sentences on the effect detectable with the present rows, the needed rows, cuts and seeds, the cost, and the
    variance.
    """
    spec = found.spec
    what = "the mean" if spec.primary == "mean" else spec.primary
    sees = "are enough for" if plan.detectable <= spec.smallest_effect else "do not show"
    sentences = [
        f"{plan.arm} against {plan.control}: {plan.size.rows:,} rows ({plan.size.perts:,} perturbations, {plan.size.genes:,} "
        f"genes) show a change of {what} of {plan.detectable:.3f} or more with {spec.plan.power:.0%} power. They {sees} the "
        f"required {spec.smallest_effect:g}.",
        f"Variances are from {plan.basis}.",
        _rows_sentence(plan, found.available, spec.plan.power),
        _repeats_sentence("cuts of the folds", plan.cuts),
        "No arm calls a model, so seeds have no effect." if plan.tokens == 0 else _repeats_sentence("seeds", plan.seeds),
        _tokens_sentence(plan),
        components_sentence(plan),
    ]
    return [sentence for sentence in sentences if sentence]


def _rows_sentence(plan: ArmPlan, available: Size, power: float) -> str:
    needed = plan.needed_rows
    if needed is None:
        return "No number of rows shows it, because the noise of cuts and seeds alone is larger. Use more of them first."
    repeats = " and ".join(f"{n:,} {what}" for n, what in ((plan.cuts, "cuts"), (plan.seeds, "seeds")) if n and n > 1)
    under = f" under {repeats}" if repeats else ""
    if needed > available.rows:
        return f"It takes about {needed:,} rows{under}; the dataset has {available.rows:,} labelled rows, too few for it."
    return (
        f"It takes about {needed:,} of the {available.rows:,} labelled rows{under}. Then, in {power:.0%} of experiments, a "
        "missing effect is rejected and the smallest effect is detected."
    )


def _repeats_sentence(what: str, n: int | None) -> str:
    if n is None:
        return f"The noise of {what} is unknown, because there is only one."
    return f"{n:,} {what} limit their noise to a tenth of the allowed variance."


def _tokens_sentence(plan: ArmPlan) -> str:
    if plan.tokens is None:
        return "Tokens are unknown before this method's first call with this model."
    if plan.tokens == 0:
        return "It costs no tokens."
    more = "" if plan.needed_tokens is None else f"; the needed number of rows, about {plan.needed_tokens:,.0f}"
    return f"About {plan.tokens:,.0f} tokens for all cuts and seeds, including cached answers{more}."


def components_sentence(plan: ArmPlan) -> str:
    """Return a sentence on the sources of the change's variance."""
    shares = plan.components.shares
    known = [f"{name} {shares[name]:.0%}" for name in SOURCES if not math.isnan(shares[name])]
    unknown = [name for name in SOURCES if math.isnan(shares[name])]
    tail = f"; the {' and the '.join(unknown)} is unknown" if unknown else ""
    return f"The variance is that of {', '.join(known)}{tail}."


def needs_table(plan: ArmPlan) -> list[dict[str, Any]]:
    """Return a line for each unit: how many there are, the standard error by them alone, and how many are needed."""
    return [{"unit": each.unit, "here": each.here, "standard error": each.se, "needed": each.needed} for each in plan.needs]
