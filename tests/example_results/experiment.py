"""Results of experiments: of scores, of |Δ|, and without a noise floor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.base.experiment import Measure
from core.base.result import Result, Table
from core.features.experiments.kinds.asking import with_spread
from core.features.experiments.result import (
    ArmResult,
    ExperimentResult,
    NoiseFloor,
    judge_arms,
    judge_contrasts,
)
from core.stats.delong import Estimate
from core.stats.intervals import normal_interval
from core.stats.permutations import sign_flip_test
from tests.estimates import plain_estimate


def estimate(value: float, se: float, limits: tuple[float, float] = (-1.0, 1.0)) -> Estimate:
    return plain_estimate(normal_interval(value, se**2, 480, "row", "an example", limits))


def _arm(name: str, change: float, se: float, *, is_moved: bool = False) -> ArmResult:
    deltas = {f"delta_{metric}": estimate(change, se) for metric in ("de", "dir", "mean")}
    scores = {metric: estimate(0.61 + change, se, (0.0, 1.0)) for metric in ("de", "dir", "mean")}
    moved = {}
    if is_moved:
        rng = np.random.default_rng(3)
        moved = {"moved": estimate(0.081, 0.01), "floor": estimate(0.052, 0.01)}
        moved["p"] = sign_flip_test(rng.normal(change, 0.1, 60), np.repeat(np.arange(20), 3), rng)
    return ArmResult(
        name,
        f"names are {name}",
        480,
        "as a whole",
        **scores,
        **deltas,
        **moved,
        runs=(f"id-{name}",),
    )


def experiment(measure: Measure, floor: NoiseFloor | None) -> ExperimentResult:
    is_moved = measure == "answers"
    base = ArmResult(
        "as it is",
        "",
        480,
        "as a whole",
        de=estimate(0.61, 0.02),
        dir=estimate(0.6, 0.02),
        is_base=True,
    )
    tested = [
        _arm("coded", -0.08, 0.02, is_moved=is_moved),
        _arm("swapped", -0.01, 0.02, is_moved=is_moved),
    ]
    contrasts = judge_contrasts([("coded", "swapped", estimate(-0.07, 0.025))])
    arms = judge_arms([base, *tested], "mean", 0.01)
    question = "Do the answers rest on remembered names?"
    about = ("names", "names of run 2", question, "toy", arms, floor, measure, "mean", 0.01)
    return ExperimentResult(
        *about, n=500, n_labelled=480, contrasts=contrasts, left_out=20, remarks=("A remark.",)
    )


def strata() -> ExperimentResult:
    """A computed idea without a base."""
    arms = tuple(
        ArmResult(name, "", 120, "all rows", de=estimate(value, 0.02, (0.0, 1.0)))
        for name, value in (("least support", 0.55), ("most support", 0.64))
    )
    about = (
        "support_strata",
        "support_strata",
        "Is a kNN better with support?",
        "toy",
        arms,
        None,
        "score",
        "mean",
        0.01,
    )
    own = "DE 0.550 [0.511, 0.589] with the least support."
    table = Table("Programs", ({"program": "cell cycle", "share": "12.3%"},))
    return ExperimentResult(
        *about, n=240, n_labelled=240, is_computed=True, own_sentence=own, details=(table,)
    )


def examples() -> Sequence[Result]:
    floor = NoiseFloor(2, *(estimate(0.004, 0.01) for _ in range(3)), moved=estimate(0.052, 0.01))
    spread = {"asking again": estimate(0.11, 0.01).shown, "between rows": estimate(0.0, 0.01).shown}
    seeds = with_spread(experiment("score", floor), {"P(DE)": spread, "P(up | DE)": {}})
    return (
        experiment("score", floor),
        experiment("answers", floor),
        experiment("score", None),
        strata(),
        seeds,
    )
