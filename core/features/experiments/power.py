"""What the rows of an experiment can show: the smallest change that they detect, and the rows that would decide.

If rows that share a perturbation or a gene vary together, the variance with independent perturbations includes that of rows,
and the same holds for genes. So the components are: perturbations V_pert - V_row, genes V_gene - V_row, rows V_row (Cameron,
Gelbach and Miller 2011 add them up to the two-way variance). A negative component is set to 0. Cuts and seeds: the variance
between them, divided by their number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.base.experiment import Experiment, Metric, Runs
from core.base.result import Table
from core.features.experiments.compare import ArmRows, Compared, compare_arms, mean_by_level
from core.features.experiments.result import METRICS
from core.scoring.arm_loader import ArmLoader
from core.scoring.compare_runs import pair_runs, scores_of_cuts
from core.scoring.run_scores import RunRows
from core.stats.arrays import Floats
from core.stats.delong import Estimate
from core.stats.power import LEVEL, detectable_difference
from core.store.connection import Cursor
from core.transfer.cuts import variances_between

POWER = 0.8
_COLUMNS: dict[Metric, int] = {"de": 0, "dir": 1, "mean": 2}
_STEPS = 50  # most iterations until the number of clusters for Student's t no longer changes


@dataclass(frozen=True, slots=True)
class Size:
    """Rows with their distinct perturbations and genes."""

    rows: int
    perturbations: int
    genes: int


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """The variance of a change of one metric, by source.

    shown: that of the shown interval. cut, seed: of one cut and one seed, which the others are without; NaN if unknown, because
    there is only one. size: of the rows behind them.
    """

    perturbations: float
    genes: float
    rows: float
    shown: float
    cut: float
    seed: float
    size: Size

    def noise(self, n_cuts: int, n_seeds: int) -> float:
        """Return the variance of that many cuts and seeds; an unknown one counts as 0."""
        return float(np.nansum((self.cut / n_cuts, self.seed / n_seeds)))


@dataclass(frozen=True, slots=True)
class ArmPower:
    """What the rows can show of one arm against the base, with POWER. basis: the runs behind the variances, "" without any.

    detectable: the smallest change that these rows detect; rows_needed: that detect the smallest effect, allowing for shared
    perturbations and genes, None if the noise of cuts and seeds alone hides it. Both are None without a basis. unknown_noise:
    what of cuts and seeds has an unknown variance, which counts as 0.
    """

    arm: str
    basis: str
    detectable: float | None = None
    rows_needed: int | None = None
    unknown_noise: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PowerOfRows:
    """What the rows of an experiment can show, with a power. size: of its rows; available: of its dataset's labelled rows."""

    metric: Metric
    smallest_effect: float
    power: float
    size: Size
    available: Size
    arms: tuple[ArmPower, ...]

    @property
    def sentence(self) -> str:
        """What the rows show, by arm."""
        return " ".join(self._sentence(arm) for arm in self.arms)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Where the variances come from, and what is not known of them."""
        bases = dict.fromkeys(f"Variances are from {arm.basis}." for arm in self.arms if arm.basis)
        unknown = dict.fromkeys(name for arm in self.arms for name in arm.unknown_noise)
        noise = [f"The noise of {' and '.join(unknown)} is unknown and counts as none."] if unknown else []
        return (*bases, *noise)

    def tables(self) -> tuple[Table, ...]:
        """Return the arms with the change that the rows detect, and the rows that would decide."""
        return (Table("Rows and effect", tuple(map(self._row, self.arms))),)

    def _row(self, arm: ArmPower) -> dict[str, Any]:
        detected = None if arm.detectable is None else round(arm.detectable, 3)
        rows = {"rows here": self.size.rows, "rows that would decide": arm.rows_needed, "labelled rows": self.available.rows}
        return {"arm": arm.arm, "smallest effect": self.smallest_effect, "detectable": detected, **rows}

    def _sentence(self, arm: ArmPower) -> str:
        if arm.detectable is None:
            return f"{arm.arm}: which change the rows detect is unknown before there are runs that differ alike."
        what = f"{arm.arm}: {self.size.rows:,} rows detect a change of the {METRICS[self.metric]} of {arm.detectable:.3f}"
        enough = "enough" if arm.detectable <= self.smallest_effect else "too few"
        here = f"{what} or more with {self.power:.0%} power, {enough} for the {self.smallest_effect:g} that matters"
        if arm.rows_needed is None:
            return f"{here}; no number of rows would decide, since cuts and seeds alone vary more. Use more of them."
        few = f"; the dataset has {self.available.rows:,} labelled rows" if arm.rows_needed > self.available.rows else ""
        return f"{here}; about {arm.rows_needed:,} rows would decide{few}."


def power_of_rows(db: Cursor, experiment: Experiment, made: Runs) -> PowerOfRows | None:
    """Return what the rows of an experiment can show; None if it compares answers, not scores.

    made: its finished runs. Variances come from them if an arm and the base have all cuts, else from the runs of `like`.
    """
    if experiment.measure != "score":
        return None
    loader, wanted = ArmLoader(db, experiment.dataset), set(experiment.rows)
    rows = loader.pairs()
    size = _size([row[:2] for row in rows if row[3] in wanted])
    arms = tuple(_power_of_arm(loader, experiment, arm.name, made, size) for arm in experiment.arms)
    return PowerOfRows(
        experiment.metric, experiment.smallest_effect, POWER, size, _size([row[:2] for row in rows if row[2]]), arms
    )


def _power_of_arm(loader: ArmLoader, experiment: Experiment, arm: str, made: Runs, size: Size) -> ArmPower:
    basis, parts = _find_variances(loader, experiment, arm, made)
    if parts is None:
        return ArmPower(arm, "")
    noise = parts.noise(len(experiment.cuts), len(experiment.seeds))
    sources = {"cuts": parts.cut if experiment.k else 0.0, "seeds": parts.seed if experiment.noise_seeds else 0.0}
    unknown = tuple(name for name, variance in sources.items() if math.isnan(variance))
    needed = count_rows(parts, experiment.smallest_effect, noise)
    return ArmPower(arm, basis, detectable_on(parts, size, noise), needed, unknown)


def _find_variances(loader: ArmLoader, experiment: Experiment, arm: str, made: Runs) -> tuple[str, VarianceComponents | None]:
    """Return the runs behind the variances in words, and the variances; None without any such runs."""
    base, metric = experiment.base.name, experiment.metric
    if all({cut for cut, _ in made.get(name, {})} >= set(experiment.cuts) for name in (base, arm)):
        a, b = ArmRows(loader, experiment, made).pair(base, arm)
        compared = compare_arms(a, b, experiment.rows, experiment.k)
        changes = compared.values[:, 1] - compared.values[:, 0]
        levels = [[replicate[axis] for replicate in sorted(a.keys() & b.keys())] for axis in (0, 1)]
        of_one = variance_between(changes, levels[0], metric), variance_between(changes, levels[1], metric)
        noise = float(np.nansum([variance / len(set(names)) for variance, names in zip(of_one, levels, strict=True)]))
        return f"the experiment's own runs, {compared.scored}", _split_variance(loader, compared, metric, of_one, noise)
    if experiment.like is None:
        return "", None
    first, second = (loader.rows_named(name) for name in experiment.like)
    compared = compare_arms({(0, 0): first}, {(0, 0): second}, list(first.frame["pair_id"]), 0)
    cut = _variance_of_cuts(first, second, metric)
    basis = f"{first.run.name} and {second.run.name}, which differ like the arms"
    return basis, _split_variance(loader, compared, metric, (cut, math.nan))


def _variance_of_cuts(a: RunRows, b: RunRows, metric: Metric) -> float:
    """Return the variance of a change between cuts, from the runs' recorded scores of other cuts; NaN without them."""
    pair, n_cuts = pair_runs(a, b), max(len(a.cuts), len(b.cuts))
    of_a, of_b = (scores_of_cuts(run, rows, n_cuts) for run, rows in ((a, pair.a), (b, pair.b)))
    if of_a is None or of_b is None or not len(of_a) == len(of_b) > 1:
        return math.nan
    return float(variances_between(of_b - of_a)[_COLUMNS[metric]])


def variance_between(changes: Floats, levels: Sequence[int], metric: Metric) -> float:
    """Return the variance between cuts, or seeds, of a metric's change; NaN with one. changes: of shape (n_replicates, 2)."""
    by_level = mean_by_level(changes, levels)
    return float(variances_between(by_level)[_COLUMNS[metric]]) if len(by_level) > 1 else math.nan


def _split_variance(
    loader: ArmLoader, compared: Compared, metric: Metric, of_one: tuple[float, float], noise: float = 0.0
) -> VarianceComponents:
    """Return the components of a change. of_one: the variance of one cut and of one seed; noise: of both, in its intervals."""
    change: Estimate = getattr(compared.comparison, metric).change
    widest = change.two_way if math.isnan(change.shown.se) else change.shown  # a plan has one even if an interval has none
    row, pert, gene, shown = (max(part.se**2 - noise, 0.0) for part in (change.row, change.pert, change.gene, widest))
    wanted = set(compared.rows)
    size = _size([line[:2] for line in loader.pairs() if line[3] in wanted])
    return VarianceComponents(max(pert - row, 0.0), max(gene - row, 0.0), row, shown, *of_one, size)


def _size(rows: Sequence[tuple[str, str]]) -> Size:
    return Size(len(rows), len({pert for pert, _ in rows}), len({gene for _, gene in rows}))


def detectable_on(parts: VarianceComponents, size: Size, noise: float, power: float = POWER) -> float:
    """Return the smallest effect detectable with these numbers of rows, perturbations and genes.

    noise: the variance of cuts and seeds. Each component shrinks with the number of its units. The shown interval uses the
    largest of the units' variances, so the sum is scaled to it.
    """
    scaled = (
        parts.perturbations * parts.size.perturbations / size.perturbations
        + parts.genes * parts.size.genes / size.genes
        + parts.rows * parts.size.rows / size.rows
    )
    before = parts.perturbations + parts.genes + parts.rows
    shown = parts.shown * (scaled / before if before else 1.0)
    return detectable_difference(math.sqrt(shown + noise), power, LEVEL, max(min(size.perturbations, size.genes) - 1, 1))


def count_rows(parts: VarianceComponents, effect: float, noise: float, power: float = POWER) -> int | None:
    """Return the number of rows with this effect as the smallest detectable one; None if noise alone hides it.

    noise: the variance of cuts and seeds. Perturbations and genes are assumed to grow in proportion to rows.
    """
    clusters, factor = min(parts.size.perturbations, parts.size.genes), 1.0
    for _ in range(_STEPS):
        df = max(clusters * factor - 1, 1.0)
        allowed = (effect / detectable_difference(1.0, power, LEVEL, df)) ** 2 - noise
        if allowed <= 0:
            return None
        factor = parts.shown / allowed
    return math.ceil(parts.size.rows * factor)
