"""Plans of experiments: with and without a known cost, and all done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.base.experiment import Arm, Experiment
from core.base.result import Result
from core.features.experiments.arms import PlannedRun
from core.features.experiments.engine import ExperimentPlan, SavedExperiment
from core.runs.request import Expectation


def examples() -> Sequence[Result]:
    rows = tuple(f"row {i}" for i in range(480))
    arms = Arm("judge alone", run="a"), Arm("briefs", "rounds: 0 → 1", run="b")
    experiment = Experiment(
        "b", "Do briefs help?", "toy", arms[0], arms[1:], rows, noise_seeds=(1,), again="a"
    )
    saved = SavedExperiment("file", "b", "0123456789", {}, "toy", rows, {})
    runs = tuple(
        PlannedRun(arm, 0, seed, run, is_done, None, None)
        for arm, seed, run, is_done in (
            ("judge alone", 0, "c", False),
            ("judge alone", 1, "d", True),
            ("briefs", 0, "b", False),
        )
    )
    plan = ExperimentPlan(
        "toy",
        runs,
        saved,
        experiment,
        Expectation(2_400, 1_200_345.0, 98_765.0, 3_600.0, 1.25),
    )
    unknown = replace(plan, cost=Expectation(2_400, None, None, None, None))
    free = replace(unknown, cost=Expectation(0, 0.0, 0.0, 0.0, 0.0))
    return (
        plan,
        unknown,
        free,
        replace(free, runs=tuple(replace(run, is_done=True) for run in runs)),
    )
