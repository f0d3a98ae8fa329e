"""Plan the size of an experiment: the change that its rows can show, and the rows and tokens that show the smallest effect.

If rows that share a perturbation or a gene vary together, the variance with independent perturbations includes that of rows,
and the same holds for genes. So the components are: perturbations V_pert - V_row, genes V_gene - V_row, rows V_row (Cameron,
Gelbach and Miller 2011 add them up to the two-way variance). A negative component is set to 0. Cuts and seeds: the variance
between them, divided by their number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import InputError
from core.experiments.benchmark_report import ArmLoader, Runs, pair_arms
from core.experiments.benchmark_spec import Arm, BenchmarkSpec
from core.experiments.paired_replicates import (
    PairedReplicates,
    ReplicateComparison,
    compare_replicates,
    mean_by_level,
    pair_replicates,
)
from core.scoring.compare_runs import pair_runs, scores_of_cuts
from core.scoring.run_scores import RunRows
from core.stats.arrays import Floats
from core.stats.delong import Estimate
from core.stats.power import LEVEL, detectable_difference
from core.store.connection import Cursor
from core.transfer.cuts import variances_between

COLUMNS = {"DE": 0, "DIR": 1, "mean": 2}
_STEPS = 50  # most iterations until the number of clusters for Student's t no longer changes


@dataclass(frozen=True, slots=True)
class Size:
    """Rows with their distinct perturbations and genes."""

    rows: int
    perts: int
    genes: int


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """The variance of a change of one metric, by source.

    shown: that of the shown interval. cut, seed: of one cut and one seed, which the others are without; NaN if unknown, because
    there is only one. n, n_perts, n_genes: number of rows and clusters behind them.
    """

    perturbations: float
    genes: float
    rows: float
    shown: float
    cut: float
    seed: float
    n: int
    n_perts: int
    n_genes: int

    def noise(self, n_cuts: int, n_seeds: int) -> float:
        """Return the variance of that many cuts and seeds; an unknown one counts as 0."""
        return float(np.nansum((self.cut / n_cuts, self.seed / n_seeds)))


@dataclass(frozen=True, slots=True)
class ArmPlan:
    """The plan of one comparison.

    basis: a description of the runs behind the variances; size: of the benchmark's rows. detectable: the smallest effect that
    these rows detect. needed_rows: the number of rows that detect the effect, allowing for shared perturbations and genes; None
    if the noise of cuts and seeds alone hides it. unknown_noise: what of cuts and seeds has an unknown variance, which counts as
    0. tokens: of the benchmark's rows under its cuts and seeds; needed_tokens: of the needed number of rows; None if unknown.
    """

    arm: str
    control: str
    basis: str
    size: Size
    detectable: float
    needed_rows: int | None
    unknown_noise: tuple[str, ...]
    tokens: float | None
    needed_tokens: float | None


@dataclass(frozen=True, slots=True)
class BenchmarkPlan:
    """The plans of a benchmark. available: the labelled rows of the dataset, the most that an experiment there can have."""

    spec: BenchmarkSpec
    available: Size
    arms: tuple[ArmPlan, ...]


@dataclass(frozen=True, slots=True)
class PlanInputs:
    """The inputs of a plan. rows: the benchmark's; made: its existing runs; tokens_per_row: arm → tokens of a row under one cut
    and seed, None if unknown.
    """

    dataset: str
    rows: Sequence[str]
    made: Runs
    tokens_per_row: Mapping[str, float | None]


def plan_benchmark(db: Cursor, spec: BenchmarkSpec, inputs: PlanInputs) -> BenchmarkPlan:
    """Return the plan of every comparison. Raise InputError without runs for estimating variances."""
    loader = ArmLoader(db, inputs.dataset)
    labelled = [row for row in loader.pairs() if row[2]]
    plans = tuple(_plan_arm(loader, spec, arm, inputs) for arm in spec.tested)
    return BenchmarkPlan(spec, _size([row[:2] for row in labelled]), plans)


def _plan_arm(loader: ArmLoader, spec: BenchmarkSpec, arm: Arm, inputs: PlanInputs) -> ArmPlan:
    control, wanted = spec.control_of(arm), set(inputs.rows)
    basis, parts = _find_variances(loader, spec, arm, inputs)
    size = _size([row[:2] for row in loader.pairs() if row[3] in wanted])
    n_cuts, n_seeds = len(spec.folds.cuts), len(spec.seeds)
    noise = parts.noise(n_cuts, n_seeds)
    per_row = _sum_or_none([inputs.tokens_per_row[each.name] for each in (control, arm)])
    tokens = None if per_row is None else per_row * size.rows * n_cuts * n_seeds
    rows = count_rows(parts, spec.smallest_effect, spec.plan.power, noise)
    sources = {"cuts": parts.cut, "seeds": 0.0 if per_row == 0 else parts.seed}  # without a model, seeds have no effect
    return ArmPlan(
        arm.name,
        control.name,
        basis,
        size,
        detectable_on(parts, size, noise, spec.plan.power),
        rows,
        tuple(name for name, variance in sources.items() if math.isnan(variance)),
        tokens,
        None if tokens is None or rows is None else tokens / size.rows * rows,
    )


def _size(rows: Sequence[tuple[str, str]]) -> Size:
    return Size(len(rows), len({pert for pert, _ in rows}), len({gene for _, gene in rows}))


def _sum_or_none(values: Sequence[float | None]) -> float | None:
    return None if any(value is None for value in values) else sum(value or 0.0 for value in values)


def _find_variances(loader: ArmLoader, spec: BenchmarkSpec, arm: Arm, inputs: PlanInputs) -> tuple[str, VarianceComponents]:
    """Return the variances from the benchmark's own runs if they are done, otherwise from the two runs named in [plan]."""
    control = spec.control_of(arm)
    of_both = [{cut for cut, _ in inputs.made.get(each.name, {})} for each in (control, arm)]
    if all(cuts >= set(spec.folds.cuts) for cuts in of_both):
        found = compare_replicates(pair_arms(loader, spec, control, arm, inputs.rows, inputs.made))
        return f"the benchmark's own runs, {found.pair.scored}", _components_of_arms(found, spec.primary)
    if spec.plan.like is not None:
        a, b = (loader.rows_named(name) for name in spec.plan.like)
        return f"{a.run.name} and {b.run.name}, which differ like the arms", _components_of_runs(a, b, spec.primary)
    of_control = inputs.made.get(control.name, {})
    if spec.plan.correlation is not None and of_control:
        known = loader.rows_of(next(iter(of_control.values())))
        words = f"{known.run.name} alone, assuming a correlation of {spec.plan.correlation:g} between the scores of both arms"
        return words, _components_of_one(known, spec, inputs.rows)
    raise InputError(
        f"plan of {arm.name!r} against {control.name!r}: no runs for estimating variances. Expected the benchmark's own, or "
        '[plan] like = ["A", "B"], two runs that differ like these arms, or [plan] correlation and a control that is done'
    )


def _components_of_one(run: RunRows, spec: BenchmarkSpec, rows: Sequence[str]) -> VarianceComponents:
    """Return the variances of the difference of two equally good runs: 2 (1 - correlation) times those of one.

    The noise of cuts and seeds is unknown.
    """
    cut = spec.folds.cuts[0]
    pair = pair_replicates({(cut, 0): run}, {(cut, 0): run}, rows, spec.folds.k)
    found, own = compare_replicates(pair).comparison.parts[spec.primary].a, pair.a[0]
    counts = len(own), len(np.unique(own.pert)), len(np.unique(own.gene))
    factor = 2 * (1 - (spec.plan.correlation or 0.0))
    return _split_variance(found, (math.nan, math.nan), counts, factor=factor)


def _components_of_arms(found: ReplicateComparison, metric: str) -> VarianceComponents:
    """Return the components of two arms under their common cuts and seeds."""
    pair, rows = found.pair, found.pair.a[0]
    levels = [[each[axis] for each in pair.replicates] for axis in (0, 1)]
    of_one = variance_between(found.changes, levels[0], metric), variance_between(found.changes, levels[1], metric)
    noise = float(np.nansum([each / len(set(names)) for each, names in zip(of_one, levels, strict=True)]))
    counts = len(rows), len(np.unique(rows.pert)), len(np.unique(rows.gene))
    return _split_variance(found.comparison.parts[metric].change, of_one, counts, noise)


def variance_between(changes: Floats, levels: Sequence[int], metric: str) -> float:
    """Return the variance between cuts, or seeds, of a metric's change; NaN with one. changes: of shape (n_replicates, 2)."""
    by_level = mean_by_level(changes, levels)
    return float(variances_between(by_level)[COLUMNS[metric]]) if len(by_level) > 1 else math.nan


def _split_variance(
    found: Estimate, of_one: tuple[float, float], counts: tuple[int, int, int], noise: float = 0.0, factor: float = 1.0
) -> VarianceComponents:
    """Return the components of a number.

    of_one: the variance of one cut and of one seed; counts: rows, perturbations, genes; noise: the variance of cuts and seeds
    in its intervals; factor: multiplies the other variances.
    """
    widest = found.two_way if math.isnan(found.shown.se) else found.shown  # a plan has one even if an interval has none
    row, pert, gene, shown = (factor * max(each.se**2 - noise, 0.0) for each in (found.row, found.pert, found.gene, widest))
    return VarianceComponents(max(pert - row, 0.0), max(gene - row, 0.0), row, shown, *of_one, *counts)


def _components_of_runs(a: RunRows, b: RunRows, metric: str) -> VarianceComponents:
    """Return the components of two existing runs, inside the cells of both; the cut's component comes from their recorded
    scores of other cuts.
    """
    pair = pair_runs(a, b)
    covered = pair.a.covered & pair.b.covered
    single = PairedReplicates(((0, 0),), (pair.a.take(covered),), (pair.b.take(covered),), 0, int((~covered).sum()))
    part = compare_replicates(single).comparison.parts[metric]
    n_cuts = max(len(a.cuts), len(b.cuts))
    of_a, of_b = (scores_of_cuts(run, rows, n_cuts) for run, rows in ((a, pair.a), (b, pair.b)))
    known = of_a is not None and of_b is not None and len(of_a) == len(of_b) > 1
    cut = float(variances_between(of_b - of_a)[COLUMNS[metric]]) if known and of_a is not None and of_b is not None else math.nan
    rows = single.a[0]
    counts = len(rows), len(np.unique(rows.pert)), len(np.unique(rows.gene))
    return _split_variance(part.change, (cut, math.nan), counts)


def detectable_on(parts: VarianceComponents, size: Size, noise: float, power: float) -> float:
    """Return the smallest effect detectable with these numbers of rows, perturbations and genes.

    noise: the variance of cuts and seeds. Each component shrinks with the number of its units. The shown interval uses the
    largest of the units' variances, so the sum is scaled to it.
    """
    scaled = (
        parts.perturbations * parts.n_perts / size.perts
        + parts.genes * parts.n_genes / size.genes
        + parts.rows * parts.n / size.rows
    )
    before = parts.perturbations + parts.genes + parts.rows
    shown = parts.shown * (scaled / before if before else 1.0)
    return detectable_difference(math.sqrt(shown + noise), power, LEVEL, max(min(size.perts, size.genes) - 1, 1))


def count_rows(parts: VarianceComponents, effect: float, power: float, noise: float) -> int | None:
    """Return the number of rows with this effect as the smallest detectable one; None if noise alone hides it.

    noise: the variance of cuts and seeds. Perturbations and genes are assumed to grow in proportion to rows.
    """
    clusters, factor = min(parts.n_perts, parts.n_genes), 1.0
    for _ in range(_STEPS):
        df = max(clusters * factor - 1, 1.0)
        allowed = (effect / detectable_difference(1.0, power, LEVEL, df)) ** 2 - noise
        if allowed <= 0:
            return None
        factor = parts.shown / allowed
    return math.ceil(parts.n * factor)
