"""Plans of experiments: with what rows can show, without, and all done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.base.result import Result
from core.features.experiments.plan_result import PlannedArm, PlanResult
from core.features.experiments.power import ArmPower, PowerOfRows, Size


def examples() -> Sequence[Result]:
    known = ArmPower("briefs", "A and B, which differ like the arms", 0.0234, 1_760, ("seeds",))
    more = ArmPower("rebuttals", "the experiment's own runs, inside 5×5 cells, cut 0", 0.0051, None)
    size, available = Size(480, 31, 64), Size(900, 40, 80)
    power = PowerOfRows("mean", 0.01, 0.8, size, available, (known, more, ArmPower("react", "")))
    arms = (PlannedArm("judge alone", "", 2, 1), PlannedArm("briefs", "rounds: 0 → 1", 1, 0))
    plan = PlanResult("file", "b", "Do briefs help?", "toy", 480, arms, 3, 2, 2_400, 1_200_345.0, 98_765.0, 3_600.0, 1.25, power)
    unknown = replace(plan, prompt_tokens=None, completion_tokens=None, seconds=None, money=None, power=None)
    return plan, unknown, replace(unknown, left=0, calls=0), replace(unknown, calls=0)
