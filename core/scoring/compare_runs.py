"""The comparison of two runs on the rows that both cover, scored alike.

Differences between two runs without labels: rank correlation, shared top rows, and the rows that move most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from core.errors import InputError
from core.scoring.run_scores import NO_CUTS, RunRows, headline_name, without_stand_ins
from core.stats.arrays import Bools, Floats, sum_by_group
from core.stats.comparison import Comparison, Difference, compare, compare_macro, difference_of
from core.stats.delong import widen
from core.stats.multiplicity import AdjustedP, adjusted_p_values
from core.stats.official_score import point_values
from core.stats.ranks import midranks
from core.stats.row_changes import Agreement, agreement
from core.stats.scores_and_labels import outcome_of, shared_rows
from core.stats.within_axis import scorable_groups
from core.texts import number_text
from core.transfer.cuts import variances_between
from core.transfer.live_fusion import FusionComparison, MetricChange
from core.transfer.run_cells import cells_under, distinct_protocols, folds_among, with_seed

FEWEST_PAIRS = 1_000  # of a positive and a negative row inside the cells of two cuts


@dataclass(frozen=True, slots=True, eq=False)
class PairedRuns:
    """Two runs on their common rows, in the same order and with the same scoring."""

    a: RunRows
    b: RunRows

    @property
    def scored(self) -> str:
        """A description of the scoring of both."""
        return self.a.scored

    def take(self, rows: Bools) -> PairedRuns:
        """Return the chosen rows of both."""
        return PairedRuns(self.a.take(rows), self.b.take(rows))


@dataclass(frozen=True, slots=True)
class GeneCounts:
    """Numbers of genes in averages over genes, for DE and for DIR: genes where both runs have a score (used for the
    comparison), and genes of each run alone.
    """

    common: tuple[int, int]
    a: tuple[int, int]
    b: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class RunComparison:
    """Run b against run a.

    covered: on the rows covered by both, the basis of conclusions; pair: these rows. all_rows: on all rows of both, None
    if both cover them all. cuts_known: whether the noise of the cut of folds is in the intervals, if any folds were cut.
    DE, DIR and their mean are those of the dataset's headline, which `headline_name` names; pooled: the AUROCs over all pairs
    of the covered rows, None if they are the headline. genes: how many genes averages count, None if there are none.
    """

    pair: PairedRuns
    covered: Comparison
    all_rows: Comparison | None
    cuts_known: bool
    pooled: Comparison | None = None
    genes: GeneCounts | None = None

    @property
    def scored(self) -> str:
        """A description of the scoring of both."""
        return self.pair.scored

    @property
    def headline_name(self) -> str:
        """A description of the mean."""
        return headline_name(self.pair.a.headline)


def pair_runs(a: RunRows, b: RunRows) -> PairedRuns:
    """Return two runs on their common rows, scored inside the cells of both.

    Raise InputError for runs on different datasets, without a common row, or made under two cuts with too few pairs inside the
    cells of both.
    """
    if a.run.dataset != b.run.dataset:
        raise InputError(f"{a.run.name} and {b.run.name}: on different datasets with different labels; expected one dataset")
    _, in_a, in_b = np.intersect1d(a.positions, b.positions, assume_unique=True, return_indices=True)
    if not len(in_a):
        raise InputError(f"{a.run.name} and {b.run.name}: no row in common; expected runs with common rows")
    protocols = distinct_protocols((*a.protocols, *b.protocols))
    pair = PairedRuns(a.take(in_a).under(protocols), b.take(in_b).under(protocols))
    if len(folds_among(protocols)) > max(len(folds_among(a.protocols)), len(folds_among(b.protocols)), 1):
        _refuse_few_pairs(pair)
    return pair


def _refuse_few_pairs(pair: PairedRuns) -> None:
    outcome, cells = outcome_of(pair.a.labels), pair.a.cells
    assert cells is not None
    sides = (
        ("DE", outcome.effect, outcome.labelled & ~outcome.effect),
        ("DIR", outcome.up, outcome.directed & ~outcome.up),
    )
    for name, positive, negative in sides:
        n_cells = int(cells.max(initial=0)) + 1
        n_pairs = int((sum_by_group(cells, n_cells, positive) * sum_by_group(cells, n_cells, negative)).sum())
        if n_pairs < FEWEST_PAIRS:
            raise InputError(
                f"{pair.a.run.name} and {pair.b.run.name}: made under different cuts, {pair.scored}, with {n_pairs:,} pairs of "
                f"rows for {name} inside both; expected {FEWEST_PAIRS:,}. Make one of them again with the seed of the other"
            )


def compare_runs(a: RunRows, b: RunRows) -> RunComparison:
    """Run b against run a on the rows that both have. Raise InputError as `pair_runs` does."""
    pair = pair_runs(a, b)
    both = pair.a.covered & pair.b.covered
    covered = pair if both.all() else pair.take(both)
    differences = _cut_differences(a, b, pair)
    sound = PairedRuns(without_stand_ins(covered.a), without_stand_ins(covered.b))
    is_macro = a.headline == "macro"
    return RunComparison(
        covered,
        _compare_headline(sound, differences),
        None if both.all() else _compare_headline(pair, differences),
        cuts_known=differences is not None and not (is_macro and folds_among(pair.a.protocols)),
        pooled=_compare(sound, differences) if is_macro else None,
        genes=_count_genes(a, b, sound) if is_macro else None,
    )


def adjusted_for_number(results: Sequence[RunComparison]) -> tuple[AdjustedP, ...]:
    """The p-values of several comparisons' changes of the mean, corrected for their number."""
    return adjusted_p_values([each.covered.mean.change.shown for each in results])


def _count_genes(a: RunRows, b: RunRows, sound: PairedRuns) -> GeneCounts:
    common = replace(sound.a, scores=shared_rows(sound.a.scores, sound.b.scores)[0])
    counts = (scorable_groups(rows.arrays, "gene") for rows in (common, without_stand_ins(a), without_stand_ins(b)))
    return GeneCounts(*counts)


def _compare_headline(pair: PairedRuns, cut_differences: Floats | None) -> Comparison:
    """Return the comparison by the dataset's headline. Scores of other cuts are known only for the pooled AUROCs."""
    if pair.a.headline == "macro":
        return compare_macro(pair.a.arrays, pair.b.arrays, "gene")
    return _compare(pair, cut_differences)


def has_an_auroc(result: Comparison) -> bool:
    """Return whether there is a question (DE or DIR) with scores of both runs and labels of both classes."""
    return not all(math.isnan(part.change.row.estimate) for part in (result.de, result.dir))


def _compare(pair: PairedRuns, cut_differences: Floats | None) -> Comparison:
    a, b = pair.a, pair.b
    found = compare(a.labels, a.scores, b.scores, a.pert, a.gene, a.cells)
    variances = variances_between(NO_CUTS if cut_differences is None else cut_differences)
    of_a, of_b = variances_between(a.cuts), variances_between(b.cuts)
    parts = zip((found.de, found.dir, found.mean), of_a, of_b, variances, strict=True)
    de, direction, mean = (_widen(*each) for each in parts)
    return replace(found, de=de, dir=direction, mean=mean)


def _widen(part: Difference, of_a: float, of_b: float, of_change: float) -> Difference:
    """Return the difference with the variances between cuts added to each run's interval and to that of the change."""
    return difference_of(widen(part.a, of_a), widen(part.b, of_b), widen(part.change, of_change, (-1.0, 1.0)))


def _cut_differences(a: RunRows, b: RunRows, pair: PairedRuns) -> Floats | None:
    """Return b minus a in DE and DIR under each cut, of shape (n_cuts, 2), empty without folds; None if it is unknown."""
    if not folds_among(pair.a.protocols):
        return NO_CUTS
    n_cuts = max(len(a.cuts), len(b.cuts))
    of_a, of_b = (scores_of_cuts(run, rows, n_cuts) for run, rows in ((a, pair.a), (b, pair.b)))
    return None if of_a is None or of_b is None or len(of_a) != len(of_b) else of_b - of_a


def scores_of_cuts(run: RunRows, rows: RunRows, n_cuts: int) -> Floats | None:
    """Return DE and DIR of a run under each cut, of shape (n_cuts, 2); None if they are unknown.

    A run that was made without folds has the same numbers under every cut, and is scored inside the cells of each. rows: those of
    the run that are compared, under the protocols of both runs.
    """
    if folds_among(run.protocols):
        return run.cuts if len(run.cuts) else None
    if n_cuts == 0:
        return None
    cells = (cells_under(with_seed(rows.protocols, seed), rows.index, rows.positions) for seed in range(n_cuts))
    outcome = outcome_of(rows.labels)
    return np.array([point_values(outcome, rows.scores, cut) for cut in cells])


def add_cut_noise(found: FusionComparison, before: Floats, after: Floats) -> FusionComparison:
    """Return a live comparison with the variance between cuts in its intervals.

    before, after: DE and DIR of the baseline and of the fusion under each cut, of shape (n_cuts, 2).
    """
    variances = zip(variances_between(before), variances_between(after), variances_between(after - before), strict=True)
    de, direction, mean = (
        MetricChange(widen(part.before, old), widen(part.after, new), widen(part.change, change, (-1.0, 1.0)))
        for part, (old, new, change) in zip((found.de, found.dir, found.mean), variances, strict=True)
    )
    return replace(found, de=de, dir=direction, mean=mean)


TOP_SHARE: Final = 0.1
MOVERS: Final = 5


@dataclass(frozen=True, slots=True, eq=False)
class QuestionDifference:
    """The difference in ranks of the same rows between two runs, by one score.

    name: DE or DIR. n: rows for which both have the score. top: a tenth of them; top_a, top_b, shared_top: number of top rows
    in each run (including ties), and in both. movers: of the rows whose rank moves most, pair_id, rank_a and rank_b (1 is the
    highest), the largest move first.
    """

    name: str
    n: int
    top: int
    top_a: int
    top_b: int
    shared_top: int
    movers: pd.DataFrame


@dataclass(frozen=True, slots=True, eq=False)
class RunDifferences:
    """agreement: Spearman's correlations. questions: DE and DIR, those for which both runs have a score."""

    agreement: Agreement
    questions: tuple[QuestionDifference, ...]


def run_differences(pair: PairedRuns) -> RunDifferences:
    """Return how the runs of a pair differ on the rows that both have; nothing in it needs labels."""
    a, b, ids = pair.a.scores, pair.b.scores, pair.a.frame["pair_id"].to_numpy()
    sides = (("DE", a.p_de, b.p_de), ("DIR", a.p_up, b.p_up))
    found = (_question(name, ids, first, second) for name, first, second in sides)
    return RunDifferences(agreement(a, b), tuple(each for each in found if each is not None))


def _question(name: str, ids: Any, a: Floats, b: Floats) -> QuestionDifference | None:
    both = ~np.isnan(a) & ~np.isnan(b)
    n = int(both.sum())
    if n < 2:
        return None
    rank_a, rank_b = (n + 1 - midranks(values[both]) for values in (a, b))
    top = max(1, round(TOP_SHARE * n))
    top_a, top_b = (values[both] >= np.partition(values[both], -top)[-top] for values in (a, b))
    order = np.argsort(-np.abs(rank_b - rank_a), kind="stable")[:MOVERS]
    order = order[rank_a[order] != rank_b[order]]
    movers = pd.DataFrame({"pair_id": ids[both][order], "rank_a": rank_a[order], "rank_b": rank_b[order]})
    return QuestionDifference(name, n, top, int(top_a.sum()), int(top_b.sum()), int((top_a & top_b).sum()), movers)


def difference_sentences(found: RunDifferences, a: str, b: str) -> list[str]:
    """Describe how run `b` differs from run `a`, in two sentences for each question."""
    sentences = []
    rho = {"DE": found.agreement.de, "DIR": found.agreement.up}
    for each in found.questions:
        sentences.append(
            f"{each.name}: rank correlation {number_text(rho[each.name], '.3f')} over {each.n:,} rows; of {_top_text(each)}, "
            f"{each.shared_top:,} are the same."
        )
        if len(each.movers):
            moves = ", ".join(f"{row.pair_id} {row.rank_a:,.0f} → {row.rank_b:,.0f}" for row in each.movers.itertuples())
            sentences.append(f"Rows that move most in {each.name}, rank in {a} → rank in {b}: {moves}.")
        else:
            sentences.append(f"No row moves in {each.name}.")
    return sentences


def _top_text(each: QuestionDifference) -> str:
    if each.top_a == each.top_b == each.top:
        return f"the {each.top:,} highest rows of each"
    return f"the {each.top:,} highest rows, with ties {each.top_a:,} and {each.top_b:,}"
