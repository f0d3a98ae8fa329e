"""Plan the size of an experiment: the rows, perturbations, genes, cuts, seeds and tokens needed to detect an effect."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.errors import InputError
from core.experiments.benchmark_report import ArmLoader, Runs, compare_arms, find_noise_floor, pair_arms
from core.experiments.benchmark_spec import Arm, BenchmarkSpec
from core.experiments.paired_replicates import PairedReplicates, compare_replicates, pair_replicates
from core.experiments.variance_components import COLUMNS, VarianceComponents, components_of, split_variance
from core.scoring.compare_runs import pair_runs, scores_of_cuts
from core.scoring.run_scores import RunRows
from core.stats.power import LEVEL, detectable_difference
from core.store.connection import Cursor
from core.transfer.cuts import variances_between

NOISE_SHARE = 0.1  # share of the allowed variance: cuts and seeds are repeated until each adds no more than this
MOST_CUTS = 1000
_STEPS = 50  # most iterations until the number of clusters for Student's t no longer changes


@dataclass(frozen=True, slots=True)
class Size:
    """Rows with their distinct perturbations and genes."""

    rows: int
    perts: int
    genes: int


@dataclass(frozen=True, slots=True)
class Need:
    """The number of units needed for one definition of independent units. se: of the change on the present rows; needed: number
    of units that detect the effect with the wanted power, None if the noise of cuts and seeds alone hides it.
    """

    unit: str
    se: float
    here: int
    needed: int | None


@dataclass(frozen=True, slots=True)
class ArmPlan:
    """The plan of one comparison.

    basis: a description of the runs behind the variances; size: of the benchmark's rows. detectable: the smallest effect that
    these rows detect. needs: by rows, perturbations, genes, and the units of the shown interval. cuts, seeds: number of each
    that keeps their noise small, None if their variance is unknown. tokens: of the benchmark's rows under its cuts and seeds;
    needed_tokens: of the needed number of rows; None if unknown.
    """

    arm: str
    control: str
    basis: str
    components: VarianceComponents
    size: Size
    detectable: float
    needs: tuple[Need, ...]
    cuts: int | None
    seeds: int | None
    tokens: float | None
    needed_tokens: float | None

    @property
    def needed_rows(self) -> int | None:
        """The number of rows that detect the effect, allowing for shared perturbations and genes; None if no number does."""
        return self.needs[-1].needed


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
    parts = _with_seed(loader, spec, arm, inputs, parts)
    cuts, seeds = (_repeats(variance, spec) for variance in (parts.cut, parts.seed))
    planned = np.nansum((parts.cut / (cuts or 1), parts.seed / (seeds or 1)))
    size = _size([row[:2] for row in loader.pairs() if row[3] in wanted])
    n_cuts, n_seeds = len(spec.folds.cuts), len(spec.seeds)
    per_row = _sum_or_none([inputs.tokens_per_row[each.name] for each in (control, arm)])
    tokens = None if per_row is None else per_row * size.rows * n_cuts * n_seeds
    needs = find_needs(parts, spec.smallest_effect, spec.plan.power, min(float(planned), parts.noise))
    rows = needs[-1].needed
    return ArmPlan(
        arm.name,
        control.name,
        basis,
        parts,
        size,
        detectable_on(parts, size, (n_cuts, n_seeds), spec.plan.power),
        needs,
        cuts,
        seeds,
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
        found = compare_arms(loader, pair_arms(loader, spec, control, arm, inputs.rows, inputs.made))
        return f"the benchmark's own runs, {found.pair.scored}", components_of(found, spec.primary)
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
    return split_variance(found, 0.0, (math.nan, math.nan), (1, 1), counts, factor)


def _with_seed(
    loader: ArmLoader, spec: BenchmarkSpec, arm: Arm, inputs: PlanInputs, parts: VarianceComponents
) -> VarianceComponents:
    """Return the components, with the seed's component filled in if a single seed left it unknown.

    It is 0 if neither arm calls a model. If an arm was repeated under other seeds, it comes from the noise floor: half of the
    mean square difference of two repeats, once for each arm that calls a model.
    """
    calling = [name for name in (spec.control_of(arm).name, arm.name) if inputs.tokens_per_row[name] != 0]
    if not math.isnan(parts.seed):
        return parts
    if not calling:
        return replace(parts, seed=0.0)
    noise = find_noise_floor(loader, spec, inputs.rows, inputs.made) if _is_repeated(spec, inputs) else None
    if noise is None or noise.kind != "seed":
        return parts
    return replace(parts, seed=float(noise.typical[COLUMNS[spec.primary]] ** 2) / 2 * len(calling))


def _is_repeated(spec: BenchmarkSpec, inputs: PlanInputs) -> bool:
    return spec.noise is not None and len({seed for _, seed in inputs.made.get(spec.noise.arm, {})}) > 1


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
    return split_variance(part.change, 0.0, (cut, math.nan), (1, 1), counts)


def detectable_on(parts: VarianceComponents, size: Size, repeats: tuple[int, int], power: float) -> float:
    """Return the smallest effect detectable with these numbers of rows, perturbations, genes, cuts and seeds.

    Each component shrinks with the number of its units. The shown interval uses the largest of the units' variances, so the sum
    is scaled to it.
    """
    scaled = (
        parts.perturbations * parts.n_perts / size.perts
        + parts.genes * parts.n_genes / size.genes
        + parts.rows * parts.n / size.rows
    )
    before = parts.perturbations + parts.genes + parts.rows
    shown = parts.units.two_way * (scaled / before if before else 1.0)
    noise = np.nansum((parts.cut / repeats[0], parts.seed / repeats[1]))
    return detectable_difference(math.sqrt(shown + noise), power, LEVEL, max(min(size.perts, size.genes) - 1, 1))


def find_needs(parts: VarianceComponents, effect: float, power: float, noise: float) -> tuple[Need, ...]:
    """Return the numbers of rows, perturbations or genes that detect an effect, with each as the independent unit, and rows by
    the shown unit.

    noise: the variance of cuts and seeds in the planned experiment. Perturbations and genes are assumed to grow in proportion
    to rows.
    """
    clusters = min(parts.n_perts, parts.n_genes)
    units = (
        ("rows alone", parts.units.row, parts.n, math.inf),
        ("perturbations", parts.units.pert, parts.n_perts, math.inf),
        ("genes", parts.units.gene, parts.n_genes, math.inf),
        ("rows, allowing for shared perturbations and genes", parts.units.two_way, parts.n, clusters),
    )
    return tuple(
        Need(name, math.sqrt(variance + parts.noise), here, _count_units(variance, here, limit, (effect, power, noise)))
        for name, variance, here, limit in units
    )


def _count_units(variance: float, here: int, clusters: float, aim: tuple[float, float, float]) -> int | None:
    """Return the number of units with this effect as the smallest detectable one. aim: effect, power, variances."""
    effect, power, noise = aim
    factor = 1.0
    for _ in range(_STEPS):
        df = clusters if math.isinf(clusters) else max(clusters * factor - 1, 1.0)
        allowed = (effect / detectable_difference(1.0, power, LEVEL, df)) ** 2 - noise
        if allowed <= 0:
            return None
        factor = variance / allowed
    return math.ceil(here * factor)


def _repeats(variance: float, spec: BenchmarkSpec) -> int | None:
    """Return the number of cuts (or seeds) that limits their noise to a tenth of the allowed variance; None if unknown."""
    if math.isnan(variance):
        return None
    allowed = (spec.smallest_effect / detectable_difference(1.0, spec.plan.power, LEVEL)) ** 2
    return min(max(1, math.ceil(variance / (NOISE_SHARE * allowed))), MOST_CUTS)
