"""Find the differences between an arm and its control. A benchmark tests one change at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import InputError
from core.experiments.benchmark_spec import Arm, BenchmarkSpec


@dataclass(frozen=True, slots=True)
class ArmDifference:
    """The differences between two arms. things: a description of each; known: False if an arm is a run from elsewhere."""

    things: tuple[str, ...]
    known: bool


def arm_difference(spec: BenchmarkSpec, arm: Arm, made_here: bool = False) -> ArmDifference:
    """Return the differences of an arm from its control. made_here: whether existing runs among the two have options to
    compare.
    """
    control = spec.control_of(arm)
    if arm.base == control.name:
        what = f"a kNN over {arm.knn['spaces']}" if arm.knn is not None else f"run {', '.join(arm.others)}"
        scaled = ", less where their ranks are far apart" * arm.by_agreement
        w_de, w_dir = arm.weights
        return ArmDifference((f"fused with {what}, weights {w_de:g} (DE) and {w_dir:g} (DIR){scaled}",), known=True)
    if arm.base is not None and arm.base == control.base:
        return ArmDifference(tuple(_differences(_fusion_parts(control), _fusion_parts(arm))), known=True)
    if arm.method is not None and control.method is not None:
        if arm.method != control.method:
            return ArmDifference((f"method: {control.method} → {arm.method}",), known=True)
        own, other = ({"model": each.model or "", **each.calls.identity, **each.options} for each in (arm, control))
        return ArmDifference(tuple(_differences(other, own)), known=True)
    return ArmDifference((f"run: {control.name} → {arm.name}",), known=made_here)


def check_arms(spec: BenchmarkSpec) -> list[ArmDifference]:
    """Return the differences of every tested arm. Raise InputError for an arm with no difference or with several."""
    found = []
    for arm in spec.tested:
        difference = arm_difference(spec, arm)
        control = spec.control_of(arm).name
        if not difference.things:
            raise InputError(f"arm {arm.name!r}: is equal to {control!r}, expected one difference")
        if len(difference.things) > 1 and not arm.several:
            raise InputError(
                f"arm {arm.name!r}: differs from {control!r} in {len(difference.things)} things "
                f"({'; '.join(difference.things)}), expected one; several = true allows more, which the report states"
            )
        found.append(difference)
    return found


def _fusion_parts(arm: Arm) -> dict[str, object]:
    return {"weights": arm.weights, "with": ", ".join(arm.others), "by agreement": arm.by_agreement, **(arm.knn or {})}


def _differences(before: dict[str, object], after: dict[str, object]) -> Sequence[str]:
    names = dict.fromkeys((*before, *after))
    values = {name: (before.get(name), after.get(name)) for name in names}
    return [f"{name}: {_shown(old)} → {_shown(new)}" for name, (old, new) in values.items() if old != new]


def _shown(value: object) -> object:
    return "default" if value is None else value
