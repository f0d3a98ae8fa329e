"""Two arms of a benchmark on the same rows and inside the same cells, over their common cuts and seeds.

A replicate is one cut of the folds and one seed. Replicates share their rows, so a row's influences on the scores of the
replicates are averaged before rows are clustered. The variance between cuts, divided by their number, is added, and so is the
variance between seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import InputError
from core.scoring.run_scores import RunRows
from core.stats.arrays import Codes, Floats
from core.stats.cell_auroc import influence_within_cells
from core.stats.comparison import Comparison, Difference, difference_of, paired_estimates
from core.stats.delong import widen
from core.stats.influence import mean_influence
from core.stats.official_score import row_counts
from core.stats.scored_rows import combine_codes
from core.stats.scores_and_labels import Scores, outcome_of, shared_rows, tasks
from core.transfer.cuts import variances_between
from core.transfer.protocols import EvaluationProtocol
from core.transfer.run_cells import distinct_protocols, folds_among
from core.types import Flag

Replicate = tuple[int, int]  # the seed of a cut and the seed of the models' calls


@dataclass(frozen=True, slots=True, eq=False)
class PairedReplicates:
    """Two arms under their common replicates, aligned row by row.

    a, b: one `RunRows` for each replicate, all on the same rows, each pair inside the same cells. left_out: number of rows that
    an arm does not cover; they do not count.
    """

    replicates: tuple[Replicate, ...]
    a: tuple[RunRows, ...]
    b: tuple[RunRows, ...]
    k: int
    left_out: int

    @property
    def scored(self) -> str:
        """A description of the scoring of both arms."""
        cuts = sorted({cut for cut, _ in self.replicates})
        seeds = sorted({seed for _, seed in self.replicates})
        which = f"mean of {len(cuts)} cuts" if len(cuts) > 1 else f"cut {cuts[0]}"
        return f"inside {self.k}×{self.k} cells, {which}" + (f", mean of {len(seeds)} seeds" if len(seeds) > 1 else "")


@dataclass(frozen=True, slots=True, eq=False)
class ReplicateComparison:
    """Arm b against arm a.

    values: DE and DIR of a and of b in each replicate, of shape (n_replicates, 2 arms, 2 metrics).
    """

    pair: PairedReplicates
    comparison: Comparison
    values: Floats

    @property
    def changes(self) -> Floats:
        """b - a in DE and DIR in each replicate, of shape (n_replicates, 2)."""
        return self.values[:, 1] - self.values[:, 0]


def pair_replicates(a: dict[Replicate, RunRows], b: dict[Replicate, RunRows], wanted: Sequence[str], k: int) -> PairedReplicates:
    """Return the replicates of two arms on the wanted rows in both, inside the cells of each replicate's cut.

    Raise InputError for a run made under other folds, and without a common row.
    """
    replicates = tuple(sorted(a.keys() & b.keys()))
    common = set(wanted).intersection(
        *(rows.frame["pair_id"] for rows in [*(a[each] for each in replicates), *(b[each] for each in replicates)])
    )
    if not common:
        raise InputError("benchmark: the arms have none of its rows in common, expected some")
    ids = [pair_id for pair_id in wanted if pair_id in common]
    lined = [[_line_up(arm[each], ids, EvaluationProtocol("folds", k, each[0])) for each in replicates] for arm in (a, b)]
    covered = np.all([rows.covered for arm in lined for rows in arm], axis=0)
    if not covered.any():
        raise InputError("benchmark: the arms have no row in common that both cover; expected some")
    first, second = (tuple(rows.take(covered) for rows in arm) for arm in lined)
    return PairedReplicates(replicates, first, second, k, len(wanted) - int(covered.sum()))


def _line_up(rows: RunRows, ids: Sequence[str], protocol: EvaluationProtocol) -> RunRows:
    """Return the rows of these ids, in this order, inside the cells of a cut."""
    others = [each for each in folds_among(rows.protocols) if each != protocol]
    if others:
        raise InputError(
            f"{rows.run.name}: made under {others[0].k}×{others[0].k} folds, cut {others[0].seed}, expected "
            f"{protocol.k}×{protocol.k} and cut {protocol.seed}. Give its base and its kNN, so that it is computed for each cut"
        )
    if any(each.kind == "loo" for each in rows.protocols):
        raise InputError(f"{rows.run.name}: made by leave-one-out, expected a run that saw no label or was made under folds")
    position = {pair_id: i for i, pair_id in enumerate(rows.frame["pair_id"])}
    chosen = rows.take(np.array([position[pair_id] for pair_id in ids], dtype=np.intp))
    return chosen.under(distinct_protocols((*chosen.protocols, protocol)))


def compare_replicates(pair: PairedReplicates, within: str = "") -> ReplicateComparison:
    """Return the paired differences b - a, the mean over replicates; within: "gene" or "pert", only pairs inside one count."""
    outcome = outcome_of(pair.a[0].labels)
    perts, genes = pair.a[0].pert, pair.a[0].gene
    axis: Codes | None = {"gene": genes, "pert": perts}.get(within)
    found = []
    for a, b in zip(pair.a, pair.b, strict=True):
        first, second = shared_rows(directed_scores(a), directed_scores(b))
        found.append(influence_within_cells([*tasks(outcome, first), *tasks(outcome, second)], combine_codes(a.cells, axis)))
    values = np.stack([each.values[:, 0].reshape(2, 2) for each in found])
    parts = [difference_of(*three) for three in paired_estimates(mean_influence(found), perts, genes)]
    noise = [replicate_noise(values[:, arm], pair.replicates) for arm in (0, 1)]
    of_change = replicate_noise(values[:, 1] - values[:, 0], pair.replicates)
    widened = [_widen(part, *each) for part, *each in zip(parts, *noise, of_change, strict=True)]
    return ReplicateComparison(pair, Comparison(*row_counts(outcome, len(outcome.labelled)), *widened), values)


def directed_scores(rows: RunRows) -> Scores:
    """Return the scores of rows, with p_up missing if the method gave no direction."""
    undirected = np.fromiter((Flag.UNCOVERED_DIR in flags for flags in rows.frame["flags"]), dtype=np.bool_, count=len(rows))
    return Scores(rows.scores.p_de, np.where(undirected, np.nan, rows.scores.p_up))


def replicate_noise(values: Floats, replicates: Sequence[Replicate]) -> Floats:
    """Return the variance from cuts and seeds in the mean of DE, of DIR and of their mean, of shape (3,).

    values: of shape (n_replicates, 2).
    """
    noise = np.zeros(3)
    for axis in (0, 1):
        by_level = mean_by_level(values, [each[axis] for each in replicates])
        noise += variances_between(by_level) / len(by_level)
    return noise


def mean_by_level(values: Floats, levels: Sequence[int]) -> Floats:
    """Return the mean of the rows of each level, of shape (n_levels, n_columns)."""
    codes = np.unique(levels, return_inverse=True)[1]
    return np.stack([values[codes == code].mean(axis=0) for code in range(codes.max() + 1)])


def _widen(part: Difference, of_a: float, of_b: float, of_change: float) -> Difference:
    a, b = widen(part.a, of_a), widen(part.b, of_b)
    return difference_of(a, b, widen(part.change, of_change, (-1.0, 1.0)))
