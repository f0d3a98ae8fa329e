"""What the rows of an experiment can show, by its finished runs: the smallest change that they detect, and the rows that decide.

The variance of an arm's change is that of its interval; that of cuts and seeds does not shrink with more rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from core.base.experiment import Experiment, Metric, Runs
from core.base.result import Table
from core.features.experiments.compare import ArmRows
from core.features.experiments.result import METRICS
from core.scoring.arm_loader import ArmLoader
from core.stats.delong import Estimate
from core.stats.power import LEVEL, detectable_difference
from core.store.connection import Cursor

POWER = 0.8
_STEPS = 50  # most iterations until the number of clusters for Student's t no longer changes


@dataclass(frozen=True, slots=True)
class ArmPower:
    """What the rows can show of one arm against the base, with POWER; None before both have all their runs.

    detectable: the smallest change that these rows detect. rows_needed: that detect the smallest effect, allowing for shared
    perturbations and genes; None, too, if the noise of cuts and seeds alone hides it.
    """

    arm: str
    detectable: float | None = None
    rows_needed: int | None = None


@dataclass(frozen=True, slots=True)
class PowerOfRows:
    """What the rows of an experiment can show. labelled: how many the dataset has. unknown_noise: what of cuts and seeds has an
    unknown variance, because there is only one."""

    metric: Metric
    smallest_effect: float
    rows: int
    labelled: int
    unknown_noise: tuple[str, ...]
    arms: tuple[ArmPower, ...]
    power: float = POWER

    @property
    def sentence(self) -> str:
        """What the rows show, by arm; in one sentence of all arms of which nothing is known yet."""
        sentences = [self._sentence(arm, arm.detectable) for arm in self.arms if arm.detectable is not None]
        waiting = ", ".join(arm.arm for arm in self.arms if arm.detectable is None)
        why = "the smallest change that these rows detect is unknown before the runs of the arm and of the base are done"
        return " ".join([*sentences, *([f"{waiting}: {why}."] if waiting else [])])

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is not known of the variances."""
        unknown = " and ".join(self.unknown_noise)
        is_known = any(arm.detectable is not None for arm in self.arms)
        return (f"The noise of {unknown} is unknown and counts as none.",) if unknown and is_known else ()

    def tables(self) -> tuple[Table, ...]:
        """Return the arms with the change that the rows detect, and the rows that would decide."""
        return (Table("Rows and effect", tuple(map(self._row, self.arms))),)

    def _row(self, arm: ArmPower) -> dict[str, Any]:
        detected = None if arm.detectable is None else round(arm.detectable, 3)
        rows = {"rows here": self.rows, "rows that would decide": arm.rows_needed, "labelled rows": self.labelled}
        return {"arm": arm.arm, "smallest effect": self.smallest_effect, "detectable": detected, **rows}

    def _sentence(self, arm: ArmPower, detectable: float) -> str:
        what = f"{arm.arm}: {self.rows:,} rows detect a change of the {METRICS[self.metric]} of {detectable:.3f}"
        enough = "enough" if detectable <= self.smallest_effect else "too few"
        here = f"{what} or more with {self.power:.0%} power, {enough} for the {self.smallest_effect:g} that matters"
        if arm.rows_needed is None:
            return f"{here}; no number of rows would decide, since cuts and seeds alone vary more. Use more of them."
        few = f"; the dataset has {self.labelled:,} labelled rows" if arm.rows_needed > self.labelled else ""
        return f"{here}; about {arm.rows_needed:,} rows would decide{few}."


def power_of_rows(db: Cursor, experiment: Experiment, made: Runs) -> PowerOfRows | None:
    """Return what the rows of an experiment can show; None if it compares answers, not scores. made: arms with all their runs."""
    if experiment.measure != "score":
        return None
    loader = ArmLoader(db, experiment.dataset)
    alone = {"cuts": experiment.k and len(experiment.cuts) == 1, "seeds": experiment.noise_seeds and len(experiment.seeds) == 1}
    return PowerOfRows(
        experiment.metric,
        experiment.smallest_effect,
        len(experiment.rows),
        sum(is_labelled for _, _, is_labelled, _ in loader.pairs()),
        tuple(name for name, is_alone in alone.items() if is_alone),
        tuple(_power_of_arm(ArmRows(loader, experiment, made), arm.name) for arm in experiment.arms),
    )


def _power_of_arm(arms: ArmRows, arm: str) -> ArmPower:
    experiment, base = arms.experiment, arms.experiment.base.name
    if base not in arms.made or arm not in arms.made:
        return ArmPower(arm)
    compared = arms.compare(base, arm)
    change: Estimate = getattr(compared.comparison, experiment.metric).change
    se = change.two_way.se if math.isnan(change.shown.se) else change.shown.se  # a plan has one even if an interval has none
    noise = compared.noise[experiment.metric]
    wanted = set(compared.rows)
    perts, genes = zip(*((pert, gene) for pert, gene, _, pair_id in arms.loader.pairs() if pair_id in wanted), strict=True)
    clusters = min(len(set(perts)), len(set(genes)))
    needed = count_rows(max(se**2 - noise, 0.0), len(wanted), clusters, experiment.smallest_effect, noise)
    return ArmPower(arm, detectable_difference(se, POWER, LEVEL, max(clusters - 1, 1)), needed)


def count_rows(variance: float, n: int, clusters: int, effect: float, noise: float) -> int | None:
    """Return the number of rows with this effect as the smallest detectable one; None if noise alone hides it.

    variance: on n rows with so many clusters, which are assumed to grow in proportion; noise: the variance of cuts and seeds.
    """
    factor = 1.0
    for _ in range(_STEPS):
        allowed = (effect / detectable_difference(1.0, POWER, LEVEL, max(clusters * factor - 1, 1.0))) ** 2 - noise
        if allowed <= 0:
            return None
        factor = variance / allowed
    return math.ceil(n * factor)
