"""What the rows of an experiment can show, by its finished runs: the smallest change that they
detect, and the rows that decide.

The variance of an arm's change is that of its interval; that of cuts and seeds does not shrink with
more rows. Before the runs of an arm are done it is at most about twice the variance of the base's
own score: two arms on the same rows err alike, not opposite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.base.experiment import Experiment, Metric, Runs
from core.features.experiments.arm_loader import ArmLoader
from core.features.experiments.compare import ArmRows
from core.features.experiments.result import METRICS
from core.scoring.run_scores import score_run
from core.stats.delong import Estimate
from core.stats.power import LEVEL, detectable_difference
from core.store.connection import Cursor

POWER = 0.8
_STEPS = 50  # most iterations until the number of clusters for Student's t no longer changes


@dataclass(frozen=True, slots=True)
class ArmPower:
    """What the rows can show of one arm against the base, with POWER; None where that is unknown.

    detectable: the smallest change that these rows detect. rows_needed: that detect the smallest
    effect, allowing for shared perturbations and genes; None, too, if the noise of cuts and seeds
    alone hides it. at_most: both are upper bounds by the score of the base, because the arm has not
    all of its runs.
    """

    arm: str
    detectable: float | None = None
    rows_needed: int | None = None
    at_most: bool = False


@dataclass(frozen=True, slots=True)
class PowerOfRows:
    """What the rows of an experiment can show. labelled: how many the dataset has. unknown_noise:
    what of cuts and seeds has an unknown variance, because there is only one."""

    metric: Metric
    smallest_effect: float
    rows: int
    labelled: int
    unknown_noise: tuple[str, ...]
    arms: tuple[ArmPower, ...]
    power: float = POWER

    @property
    def sentence(self) -> str:
        """What the rows show, by arm; in one sentence of all arms without runs, of which only a
        bound is known, or nothing."""
        by_power: dict[tuple[float | None, int | None, bool], list[str]] = {}
        for arm in self.arms:
            by_power.setdefault((arm.detectable, arm.rows_needed, arm.at_most), []).append(arm.arm)
        return " ".join(
            self._sentence(ArmPower(", ".join(arms), *power)) for power, arms in by_power.items()
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is not known of the variances."""
        unknown = " and ".join(self.unknown_noise)
        is_known = any(arm.detectable is not None for arm in self.arms)
        noise = (
            f"The noise of {unknown} is unknown and counts as none." if unknown and is_known else ""
        )
        bound = (
            "At most: as if an arm erred on other rows than the base. Where both err on the same"
            " rows, fewer rows decide."
        )
        return tuple(filter(None, (noise, bound if any(arm.at_most for arm in self.arms) else "")))

    def _sentence(self, arm: ArmPower) -> str:
        if arm.detectable is None:
            return (
                f"{arm.arm}: which change these rows detect is unknown before the runs of the arm"
                " and of the base are done."
            )
        most = "at most " if arm.at_most else ""
        what = (
            f"{arm.arm}: {self.rows:,} rows detect a change of the {METRICS[self.metric]} of"
            f" {most}{arm.detectable:.3f}"
        )
        is_enough = arm.detectable <= self.smallest_effect
        enough = "enough" if is_enough else "perhaps too few" if arm.at_most else "too few"
        here = (
            f"{what} or more with {self.power:.0%} power, {enough} for the {self.smallest_effect:g}"
            " that matters"
        )
        if arm.rows_needed is None:
            return (
                f"{here}; no number of rows would decide, since cuts and seeds alone vary more. Use"
                " more of them."
            )
        few = (
            f"; the dataset has {self.labelled:,} labelled rows"
            if arm.rows_needed > self.labelled
            else ""
        )
        return f"{here}; {most or 'about '}{arm.rows_needed:,} rows would decide{few}."


def power_of_rows(db: Cursor, experiment: Experiment, made: Runs) -> PowerOfRows | None:
    """Return what the rows of an experiment can show; None if it compares answers, not scores.
    made: arms with all their runs."""
    if experiment.measure != "score":
        return None
    loader = ArmLoader(db, experiment.dataset)
    alone = {
        "cuts": experiment.k and len(experiment.cuts) == 1,
        "seeds": experiment.noise_seeds and len(experiment.seeds) == 1,
    }
    arms, base = ArmRows(loader, experiment, made), experiment.base.name
    bound = _power_by_base(arms)
    return PowerOfRows(
        experiment.metric,
        experiment.smallest_effect,
        len(experiment.rows),
        int(loader.frame["label"].notna().sum()),
        tuple(name for name, is_alone in alone.items() if is_alone),
        tuple(
            (
                _power_of_arm(arms, arm.name)
                if {base, arm.name} <= made.keys()
                else replace(bound, arm=arm.name)
            )
            for arm in experiment.arms
        ),
    )


def _power_of_arm(arms: ArmRows, arm: str) -> ArmPower:
    experiment = arms.experiment
    compared = arms.compare(experiment.base.name, arm)
    change: Estimate = getattr(compared.comparison, experiment.metric).change
    return ArmPower(
        arm, *_power(arms, compared.rows, _se(change), compared.noise[experiment.metric])
    )


def _power_by_base(arms: ArmRows) -> ArmPower:
    """Return the bound by the score of the run that the base repeats, or of the base; unknown
    without a score of these rows."""
    unknown, experiment = ArmPower(""), arms.experiment
    run = experiment.again or next(iter(arms.made.get(experiment.base.name, {}).values()), "")
    if not run:
        return unknown
    rows = arms.loader.rows_of(run)
    rows = rows.take(rows.frame["pair_id"].isin(set(experiment.rows)).to_numpy(dtype=np.bool_))
    if not rows.arrays.outcome.labelled.any():
        return unknown
    se = math.sqrt(2) * _se(getattr(score_run(rows).whole, experiment.metric))
    return (
        unknown
        if math.isnan(se)
        else ArmPower("", *_power(arms, tuple(rows.frame["pair_id"]), se, 0.0), at_most=True)
    )


def _se(value: Estimate) -> float:
    """Return the standard error by perturbations and genes: a plan has one even where an interval
    has none."""
    return value.two_way.se if math.isnan(value.shown.se) else value.shown.se


def _power(arms: ArmRows, rows: Sequence[str], se: float, noise: float) -> tuple[float, int | None]:
    """Return the smallest change that these rows detect, and how many rows would detect the
    smallest effect."""
    frame = arms.loader.frame
    clusters = int(frame.loc[frame["pair_id"].isin(rows), ["pert", "gene"]].nunique().min())
    needed = count_rows(
        max(se**2 - noise, 0.0), len(rows), clusters, arms.experiment.smallest_effect, noise
    )
    return detectable_difference(se, POWER, LEVEL, max(clusters - 1, 1)), needed


def count_rows(variance: float, n: int, clusters: int, effect: float, noise: float) -> int | None:
    """Return the number of rows with this effect as the smallest detectable one; None if noise
    alone hides it.

    variance: on n rows with so many clusters, which are assumed to grow in proportion; noise: the
    variance of cuts and seeds.
    """
    factor = 1.0
    for _ in range(_STEPS):
        allowed = (
            effect / detectable_difference(1.0, POWER, LEVEL, max(clusters * factor - 1, 1.0))
        ) ** 2 - noise
        if allowed <= 0:
            return None
        factor = variance / allowed
    return math.ceil(n * factor)
