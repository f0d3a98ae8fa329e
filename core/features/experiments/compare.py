"""From the runs of an experiment to its result: every arm against the base, paired, and the base
against itself asked again.

A replicate is one cut of the folds and one seed. Replicates share their rows, so a row's influences
on the scores of the replicates are averaged before rows are clustered. The variance between cuts,
divided by their number, is added, and so is the variance between seeds. A single pair of runs
outside folds of the experiment is compared as any two runs are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from core.base.errors import InputError, StateError
from core.base.experiment import Arm, Experiment, Metric, Runs
from core.features.experiments.arm_rows import (
    ArmLoader,
    changes,
    mean_change,
    moved_more,
    of_both,
    take_ids,
)
from core.features.experiments.result import (
    ArmResult,
    ExperimentResult,
    NoiseFloor,
    judge_arms,
    judge_contrasts,
)
from core.methods.base import method_named
from core.scoring.compare_runs import compare_runs
from core.scoring.run_scores import RunRows
from core.stats.arrays import Bools, Codes, Floats
from core.stats.cell_auroc import influence_within_cells
from core.stats.comparison import Comparison, paired_estimates, widen_difference
from core.stats.delong import Estimate, dependence_of
from core.stats.influence import mean_influence
from core.stats.official_score import row_counts
from core.stats.scores_and_labels import Scores, outcome_of, shared_rows, tasks
from core.store.connection import Cursor
from core.transfer.protocols import EvaluationProtocol
from core.transfer.row_index import Rows
from core.transfer.run_cells import (
    describe_scoring,
    distinct_protocols,
    folds_among,
    variances_between,
)

Replicate = tuple[int, int]  # the seed of a cut, and that of the calls
Arms = dict[Replicate, RunRows]
_METRICS: tuple[Metric, ...] = ("de", "dir", "mean")


@dataclass(frozen=True, slots=True, eq=False)
class PairedReplicates:
    """Two arms under their common replicates, on the same rows, each pair inside the same cells. k:
    0 without folds."""

    replicates: tuple[Replicate, ...]
    a: tuple[RunRows, ...]
    b: tuple[RunRows, ...]
    k: int

    @property
    def scored(self) -> str:
        """How both are scored."""
        cuts, seeds = ({replicate[axis] for replicate in self.replicates} for axis in (0, 1))
        which = f"mean of {len(cuts)} cuts" if len(cuts) > 1 else f"cut {min(cuts)}"
        where = (
            f"inside {self.k}×{self.k} cells, {which}"
            if self.k
            else describe_scoring(self.a[0].protocols)
        )
        return where + (f", mean of {len(seeds)} seeds" if len(seeds) > 1 else "")


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Arm b against arm a. rows: ids of those that both cover."""

    comparison: Comparison
    rows: tuple[str, ...]
    scored: str

    def change(self, metric: Metric) -> Estimate:
        """Return the change in a metric; in the only one that is defined if the mean is not."""
        parts: list[Estimate] = [
            getattr(self.comparison, name).change for name in (metric, "de", "dir")
        ]
        return next((part for part in parts if not math.isnan(part.value)), parts[0])


@dataclass(frozen=True, slots=True, eq=False)
class ArmRows:
    """The runs of every arm of an experiment, loaded."""

    loader: ArmLoader
    experiment: Experiment
    made: Runs

    def under(self, arm: str, seeds: Sequence[int]) -> Arms:
        """Return the rows of an arm under each cut and these seeds. One that no seed changes was
        made under a single one.

        Raise StateError if a run is missing.
        """
        of_arm = self.made.get(arm, {})
        loaded = {}
        for cut in self.experiment.cuts:
            alone = [run for (of_cut, _), run in of_arm.items() if of_cut == cut]
            for seed in seeds:
                run = of_arm.get((cut, seed)) or (alone[0] if len(alone) == 1 else "")
                if not run:
                    raise StateError(
                        f"arm {arm!r}: no finished run under cut {cut}, seed {seed}; run the"
                        " experiment again"
                    )
                loaded[cut, seed] = self.loader.rows_of(run)
        return loaded

    def pair(self, a: str, b: str) -> tuple[Arms, Arms]:
        """Return two arms under the seeds under which either was asked. Raise StateError if a run
        is missing."""
        asked = {seed for arm in (a, b) for _, seed in self.made.get(arm, {})}
        seeds = [seed for seed in self.experiment.seeds if seed in asked] or list(
            self.experiment.seeds[:1]
        )
        return self.under(a, seeds), self.under(b, seeds)

    def compare(self, a: str, b: str) -> Compared:
        """Return arm b against arm a, over the seeds under which either was asked."""
        return compare_arms(*self.pair(a, b), self.experiment.rows, self.experiment.k)


def compare_arms(a: Arms, b: Arms, rows: Sequence[str], k: int) -> Compared:
    """Return arm b against arm a, on the rows that both answered and cover. Raise InputError as
    `pair_replicates` does."""
    if k or len(a) > 1:
        return compare_replicates(pair_replicates(a, b, rows, k))
    [first], [second] = a.values(), b.values()
    ids = _common_ids(rows, set(first.frame["pair_id"]).intersection(second.frame["pair_id"]))
    result = compare_runs(take_ids(first, ids), take_ids(second, ids))
    return Compared(result.covered, tuple(result.a.frame["pair_id"]), result.scored)


def pair_replicates(a: Arms, b: Arms, rows: Sequence[str], k: int) -> PairedReplicates:
    """Return the replicates of two arms on the rows that all of their runs cover, inside the cells
    of each replicate's cut.

    Raise InputError for a run made under other folds, and without a common row.
    """
    replicates = tuple(sorted(a.keys() & b.keys()))
    every = [arm[replicate] for arm in (a, b) for replicate in replicates]
    ids = _common_ids(rows, set(rows).intersection(*(one.frame["pair_id"] for one in every)))
    shared = (
        () if k else distinct_protocols([protocol for one in every for protocol in one.protocols])
    )
    lined = [
        [
            _line_up(arm[one], ids, (EvaluationProtocol("folds", k, one[0]),) if k else shared)
            for one in replicates
        ]
        for arm in (a, b)
    ]
    covered = np.all([one.covered for arm in lined for one in arm], axis=0)
    if not covered.any():
        raise InputError(
            "experiment: two arms have no row in common that both cover; expected some"
        )
    first, second = (tuple(one.take(covered) for one in arm) for arm in lined)
    return PairedReplicates(replicates, first, second, k)


def _common_ids(rows: Sequence[str], common: set[str]) -> list[str]:
    ids = [pair_id for pair_id in rows if pair_id in common]
    if not ids:
        raise InputError("experiment: two arms have none of its rows in common, expected some")
    return ids


def _line_up(
    rows: RunRows, ids: Sequence[str], protocols: tuple[EvaluationProtocol, ...]
) -> RunRows:
    """Return the rows of these ids, in this order, inside the cells of these protocols."""
    cut = next(iter(folds_among(protocols)), None)
    others = [protocol for protocol in folds_among(rows.protocols) if protocol not in protocols]
    if others and cut is not None:
        raise InputError(
            f"{rows.run.name}: made under {others[0].k}×{others[0].k} folds, cut {others[0].seed},"
            f" expected {cut.k}×{cut.k} and cut {cut.seed}. Give its base and its kNN, so that it"
            " is computed for each cut"
        )
    if any(protocol.kind == "loo" for protocol in rows.protocols):
        raise InputError(
            f"{rows.run.name}: made by leave-one-out, expected a run that saw no label or was made"
            " under folds"
        )
    chosen = take_ids(rows, ids)
    return chosen.under(distinct_protocols((*chosen.protocols, *protocols)))


def compare_replicates(pair: PairedReplicates) -> Compared:
    """Return the paired differences b - a, the mean over replicates."""
    first = pair.a[0]
    scores = [
        (directed_scores(a), directed_scores(b), a.cells)
        for a, b in zip(pair.a, pair.b, strict=True)
    ]
    rows = Rows(first.pert, first.gene)
    comparison = compare_scores(first.labels, rows, scores, pair.replicates)
    return Compared(comparison, tuple(first.frame["pair_id"]), pair.scored)


def compare_scores(
    labels: ArrayLike,
    rows: Rows,
    scores: Sequence[tuple[Scores, Scores, Codes | None]],
    replicates: Sequence[Replicate],
) -> Comparison:
    """Return the paired differences b - a, the mean over replicates. scores: of a and of b under
    each replicate, and the cells inside which they rank."""
    outcome = outcome_of(labels)
    influences = []
    for a, b, cells in scores:
        first, second = shared_rows(a, b)
        influences.append(
            influence_within_cells([*tasks(outcome, first), *tasks(outcome, second)], cells)
        )
    values = np.stack([influence.values[:, 0].reshape(2, 2) for influence in influences])
    influence = mean_influence(influences)
    parts = paired_estimates(influence, dependence_of(influence, rows.pert, rows.gene))
    noise = [replicate_noise(values[:, arm], replicates) for arm in (0, 1)]
    of_change = replicate_noise(values[:, 1] - values[:, 0], replicates)
    widened = [
        widen_difference(part, *variances)
        for part, *variances in zip(parts, *noise, of_change, strict=True)
    ]
    return Comparison(*row_counts(outcome, len(outcome.labelled)), *widened)


def directed_scores(rows: RunRows) -> Scores:
    """Return the scores of rows, with p_up missing if the method gave no direction."""
    return Scores(rows.scores.p_de, np.where(rows.undirected, np.nan, rows.scores.p_up))


def replicate_noise(values: Floats, replicates: Sequence[Replicate]) -> Floats:
    """Return the variance from cuts and seeds in the mean of DE, of DIR and of their mean, of shape
    (3,).

    values: of shape (n_replicates, 2).
    """
    noise = np.zeros(3)
    for axis in (0, 1):
        levels = np.array([replicate[axis] for replicate in replicates])
        by_level = np.stack([values[levels == level].mean(axis=0) for level in np.unique(levels)])
        noise += variances_between(by_level) / len(by_level)
    return noise


def result_of_runs(db: Cursor, kind: str, experiment: Experiment, made: Runs) -> ExperimentResult:
    """Return the result of an experiment whose runs are all done. Raise StateError if the run of an
    arm is missing."""
    arms = ArmRows(ArmLoader(db, experiment.dataset), experiment, made)
    results, left = (_by_answers if experiment.measure == "answers" else _by_scores)(arms)
    n = len(experiment.rows) - left
    return ExperimentResult(
        kind,
        experiment.name,
        experiment.question,
        arms.loader.dataset.name,
        judge_arms(results, experiment.metric, experiment.smallest_effect),
        _noise_floor(arms),
        experiment.measure,
        experiment.metric,
        experiment.smallest_effect,
        n,
        n_labelled=arms.compare(experiment.base.name, experiment.base.name).comparison.n_labelled,
        contrasts=judge_contrasts(
            [(a, b, arms.compare(b, a).change(experiment.metric)) for a, b in experiment.contrasts]
        ),
        left_out=left,
        remarks=experiment.remarks,
        is_computed=not any(calls_model(arm, experiment.every) for arm in experiment.every),
    )


def calls_model(arm: Arm, arms: Sequence[Arm]) -> bool:
    """Return whether another seed gives an arm other answers: it, or the one of `arms` that it is
    fused from, calls a model."""
    if arm.fused is not None:
        return any(calls_model(base, arms) for base in arms if base.name == arm.fused.base)
    return arm.request is not None and method_named(arm.request.method).needs_model


def _by_scores(arms: ArmRows) -> tuple[list[ArmResult], int]:
    """Return the arms by their scores, and the number of rows without an answer in one of them."""
    base = arms.experiment.base
    own = arms.compare(base.name, base.name)
    compared = [(arm, arms.compare(base.name, arm.name)) for arm in arms.experiment.arms]
    common = set(own.rows).intersection(*(one.rows for _, one in compared))
    results = [_result(arms, base, own), *(_result(arms, arm, one) for arm, one in compared)]
    return results, len(arms.experiment.rows) - len(common)


def _by_answers(arms: ArmRows) -> tuple[list[ArmResult], int]:
    """Return the arms by |Δ|, and the number of rows that asking again leaves unread."""
    experiment, base = arms.experiment, arms.experiment.base
    first_seed, seeds = _first_and_again(experiment)
    loaded = {arm.name: list(arms.under(arm.name, seeds).values()) for arm in experiment.every}
    [original] = arms.under(base.name, [first_seed]).values()
    every = [original, *(rows for runs in loaded.values() for rows in runs)]
    ids = _common_ids(
        experiment.rows,
        set(experiment.rows).intersection(*(rows.frame["pair_id"] for rows in every)),
    )
    lined = {name: [take_ids(rows, ids) for rows in runs] for name, runs in loaded.items()}
    first, again = take_ids(original, ids), lined.pop(base.name)
    read = ~np.isnan(changes(first, again)[0])
    results = [_result(arms, base, _compare_read(arms, again, again, read))]
    for arm in experiment.arms:
        one = moved_more(first, again, lined[arm.name])
        scored = _result(arms, arm, _compare_read(arms, again, lined[arm.name], one.read))
        results.append(replace(scored, moved=one.movement, floor=one.floor, p=one.p))
    return results, len(experiment.rows) - int(read.sum())


def _first_and_again(experiment: Experiment) -> tuple[int, Sequence[int]]:
    """Return the seed of the base's first answers, and those under which it is asked again.

    |Δ| of arms is measured from the base under the first of `noise_seeds`: both it and the arms are
    asked under `seeds`.
    """
    if experiment.measure == "answers":
        return experiment.noise_seeds[0], experiment.seeds
    return experiment.seeds[0], experiment.noise_seeds


def _compare_read(
    arms: ArmRows, a: Sequence[RunRows], b: Sequence[RunRows], read: Bools
) -> Compared:
    """Return DE and DIR of b against a on the rows whose answers could be read."""
    replicates = tuple((arms.experiment.cuts[0], seed) for seed in arms.experiment.seeds)
    first, second = (tuple(rows.take(read) for rows in side) for side in (a, b))
    return compare_replicates(PairedReplicates(replicates, first, second, 0))


def _result(arms: ArmRows, arm: Arm, compared: Compared) -> ArmResult:
    parts = {name: getattr(compared.comparison, name) for name in _METRICS}
    is_base = arm is arms.experiment.base
    change = {} if is_base else {f"delta_{name}": part.change for name, part in parts.items()}
    return ArmResult(
        arm.name,
        arm.change,
        len(compared.rows),
        compared.scored,
        **{name: part.after for name, part in parts.items()},
        **change,
        runs=tuple(arms.made[arm.name].values()),
        note=arm.note,
        is_base=is_base,
    )


def _noise_floor(arms: ArmRows) -> NoiseFloor | None:
    """Return how much asking the base again changes; None where it was not asked again."""
    experiment = arms.experiment
    base = experiment.base.name
    if not {seed for _, seed in arms.made[base]} & set(experiment.noise_seeds):
        return None  # asking again changes nothing of a base that asks no model
    first_seed, seeds = _first_and_again(experiment)
    again = arms.under(base, seeds)
    first = {(cut, seed): arms.under(base, [first_seed])[cut, first_seed] for cut, seed in again}
    compared = compare_arms(first, again, experiment.rows, experiment.k)
    changed = {f"delta_{name}": getattr(compared.comparison, name).change for name in _METRICS}
    labelled = {name: change for name, change in changed.items() if not math.isnan(change.value)}
    cut = experiment.cuts[0]
    lined = [take_ids(rows, compared.rows) for (of_cut, _), rows in again.items() if of_cut == cut]
    origin = take_ids(first[cut, seeds[0]], compared.rows)
    return NoiseFloor(
        1 + len(seeds), **labelled, moved=mean_change(of_both(*changes(origin, lined)), origin)
    )
