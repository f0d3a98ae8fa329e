"""Report a benchmark: paired deltas of its arms inside the same cells, the placebo, and the noise floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import StateError
from core.experiments import decision
from core.experiments.arm_differences import ArmDifference, arm_difference
from core.experiments.benchmark_spec import Arm, BenchmarkSpec, Metric, Replicate
from core.experiments.paired_replicates import (
    PairedReplicates,
    ReplicateComparison,
    compare_replicates,
    mean_by_level,
    pair_replicates,
)
from core.scoring.run_scores import RunRows, add_count_controls, scored_rows
from core.stats.arrays import Floats
from core.stats.comparison import Difference
from core.stats.intervals import Interval
from core.stats.verdicts import side_of
from core.store import datasets, evidence, pairs, predictions, runs
from core.store.connection import Cursor
from core.store.datasets import Dataset
from core.transfer.row_index import RowIndex

Runs = Mapping[str, Mapping[Replicate, str]]  # arm → replicate → run id


@dataclass(frozen=True, slots=True)
class Placebo:
    """A metric that a change cannot affect. moved: whether its interval excludes 0, so that something else changed too."""

    metric: str
    change: Difference

    @property
    def moved(self) -> bool:
        return side_of(self.change.change.shown) in ("above", "below")


@dataclass(frozen=True, slots=True, eq=False)
class NoiseFloor:
    """The difference between an arm and its repeat. kind: "cut" or "seed", the thing that differs.

    differences: of DE, DIR and their mean between each pair of repeats, of shape (n_pairs, 3). change: for seeds, the paired
    difference of the second repeat from the first; None for cuts, whose cells differ.
    """

    arm: str
    kind: str
    repeats: int
    differences: Floats
    change: ReplicateComparison | None = None

    @property
    def typical(self) -> Floats:
        """The root mean square of the differences of DE, DIR and their mean, of shape (3,); NaN with a single repeat."""
        return np.sqrt((self.differences**2).mean(axis=0)) if len(self.differences) else np.full(3, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class ArmResult:
    """A tested arm against its control. dossiers: (rows, rows with different evidence) of arms with evidence."""

    arm: Arm
    control: Arm
    difference: ArmDifference
    found: ReplicateComparison
    placebos: tuple[Placebo, ...]
    dossiers: tuple[int, int] | None

    def change(self, metric: Metric) -> Difference:
        """Return the change of a metric."""
        return part_of(self.found, metric)

    def decisive(self, spec: BenchmarkSpec) -> Interval:
        """Return the deciding interval of the change of the primary metric."""
        return decision.interval_by(self.change(spec.primary).change, spec.unit_of(self.arm))

    def decision(self, spec: BenchmarkSpec) -> decision.Decision:
        """Return the verdict on the change of the primary metric, by the rule of the ledger."""
        return decision.decide(self.decisive(spec), spec.smallest_effect)


@dataclass(frozen=True, slots=True, eq=False)
class BenchmarkReport:
    """The report of a benchmark. n_wanted: number of its rows; runs: of each arm, by replicate; tokens: of all its runs, None
    if unknown.
    """

    spec: BenchmarkSpec
    n_wanted: int
    results: tuple[ArmResult, ...]
    noise: NoiseFloor | None
    runs: Runs
    tokens: int | None
    dataset: Dataset


def part_of(found: ReplicateComparison, metric: str) -> Difference:
    """Return the difference of one metric."""
    return found.comparison.parts[metric]


class ArmLoader:
    """Loads the rows of every run of a benchmark, each once."""

    def __init__(self, db: Cursor, dataset: str, *, asked: bool = False) -> None:
        self.db, self.dataset = db, datasets.find(db, dataset)
        self._frame = pairs.frame(db, self.dataset.id, asked=asked)
        self._index = RowIndex.of_frame(self._frame)
        self._known = {each.id: each for each in runs.list_all(db, self.dataset.id)}
        self._rows: dict[str, RunRows] = {}

    def rows_of(self, run: str) -> RunRows:
        """Return the rows of a run, as scored. Raise NotFound."""
        if run not in self._rows:
            found = runs.find_predicting(self.db, run)
            frame = add_count_controls(predictions.frame(self.db, found.id), self._frame)
            self._rows[run] = scored_rows(found, self._known.get, frame, self._index, self.dataset)
        return self._rows[run]

    def rows_named(self, name: str) -> RunRows:
        """Return the rows of a run by its name or id, as scored."""
        return self.rows_of(runs.find_predicting(self.db, name).id)

    def pairs(self) -> list[tuple[str, str, bool, str]]:
        """Return every row of the dataset: perturbation, gene, whether it is labelled, and id."""
        labelled = self._frame["label"].notna()
        return list(zip(self._frame["pert"], self._frame["gene"], labelled, self._frame["pair_id"], strict=True))

    def tokens(self, made: Runs) -> int | None:
        """Return the tokens of all runs, each counted once; None if some are unknown."""
        every = {run for of_arm in made.values() for run in of_arm.values()}
        found = [self.rows_of(run).run for run in every]
        counts = [run.tokens for run in found if not run.parents]  # runs made from other runs repeat their tokens
        return None if any(count is None for count in counts) else sum(count or 0 for count in counts)


def report_benchmark(db: Cursor, spec: BenchmarkSpec, dataset: str, rows: Sequence[str], made: Runs) -> BenchmarkReport:
    """Return the report of a benchmark whose runs are all done. Raise StateError if one is missing."""
    loader = ArmLoader(db, dataset)
    results = tuple(_compare_arm(loader, spec, arm, rows, made) for arm in spec.tested)
    noise = find_noise_floor(loader, spec, rows, made)
    return BenchmarkReport(spec, len(rows), results, noise, made, loader.tokens(made), loader.dataset)


def pair_arms(
    loader: ArmLoader, spec: BenchmarkSpec, control: Arm, arm: Arm, rows: Sequence[str], made: Runs
) -> PairedReplicates:
    """Return two arms under the cuts of the benchmark and their seeds.

    An arm without seeds is paired with all seeds of the other.
    """
    both = [_of_seeds(made.get(each.name, {}), spec.seeds) for each in (control, arm)]
    for each, of_arm in zip((control, arm), both, strict=True):
        missing = [cut for cut in spec.folds.cuts if not any(cut == replicate[0] for replicate in of_arm)]
        if missing:
            raise StateError(f"arm {each.name!r}: no finished run under cut {missing[0]}; run the benchmark again")
    seeds = sorted({seed for of_arm in both for _, seed in of_arm})
    a, b = (
        {
            (cut, seed): loader.rows_of(of_arm.get((cut, seed)) or of_arm[cut, spec.seeds[0]])
            for cut in spec.folds.cuts
            for seed in seeds
        }
        for of_arm in both
    )
    return pair_replicates(a, b, rows, spec.folds.k)


def _of_seeds(of_arm: Mapping[Replicate, str], seeds: Sequence[int]) -> dict[Replicate, str]:
    return {replicate: run for replicate, run in of_arm.items() if replicate[1] in seeds}


def _compare_arm(loader: ArmLoader, spec: BenchmarkSpec, arm: Arm, rows: Sequence[str], made: Runs) -> ArmResult:
    control = spec.control_of(arm)
    found = compare_replicates(pair_arms(loader, spec, control, arm, rows, made))
    pair = found.pair
    placebos = tuple(_check_placebo(pair, found, metric) for metric in arm.placebo)
    dossiers = evidence.count_differing_rows(loader.db, pair.a[0].run.id, pair.b[0].run.id)
    return ArmResult(arm, control, arm_difference(spec, arm), found, placebos, dossiers)


def _check_placebo(pair: PairedReplicates, found: ReplicateComparison, metric: str) -> Placebo:
    name, _, axis = metric.partition(" within ")
    within = compare_replicates(pair, axis) if axis else found
    return Placebo(metric, part_of(within, name))


def find_noise_floor(loader: ArmLoader, spec: BenchmarkSpec, rows: Sequence[str], made: Runs) -> NoiseFloor | None:
    """Return the noise floor of the repeated arm: by seeds if it calls a model, otherwise by cuts.

    Return None without a repeat.
    """
    if spec.noise is None:
        return None
    arm, k = spec.arm(spec.noise.arm), spec.folds.k
    by_seed: dict[int, dict[Replicate, RunRows]] = {}
    for (cut, seed), run in made.get(arm.name, {}).items():
        by_seed.setdefault(seed, {})[cut, 0] = loader.rows_of(run)
    first, *others = by_seed
    if others:
        found = [compare_replicates(pair_replicates(by_seed[first], by_seed[other], rows, k)) for other in others]
        differences = np.stack([_with_mean(each.changes.mean(axis=0)) for each in found])
        return NoiseFloor(arm.name, "seed", 1 + len(others), differences, found[0])
    pair = pair_replicates(by_seed[first], by_seed[first], rows, k)
    values = compare_replicates(pair).values[:, 0]
    between = [_with_mean(values[j] - values[i]) for i, j in zip(*np.triu_indices(len(values), 1), strict=True)]
    return NoiseFloor(arm.name, "cut", len(values), np.stack(between) if between else np.empty((0, 3)))


def _with_mean(values: Floats) -> Floats:
    return np.append(values, values.mean())


def spread_of_cuts(found: ReplicateComparison) -> Floats:
    """Return the standard deviation between cuts of the changes of DE, DIR and their mean, of shape (3,); NaN with one cut."""
    by_cut = mean_by_level(found.changes, [cut for cut, _ in found.pair.replicates])
    return np.column_stack((by_cut, by_cut.mean(axis=1))).std(axis=0, ddof=1) if len(by_cut) > 1 else np.full(3, np.nan)
