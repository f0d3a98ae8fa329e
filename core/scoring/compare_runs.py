"""The comparison of two runs on the rows that both cover, scored alike.

Differences between two runs without labels: rank correlation, shared top rows, and the rows that
move most.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from core.base.errors import InputError
from core.base.result import Figure, LabelMarks, Table, hidden, inline
from core.base.texts import number_text, quantity_text, rows_behind
from core.scoring.run_scores import (
    MACRO_HEADLINE,
    NO_CUTS,
    RunRows,
    headline_name,
    without_stand_ins,
)
from core.scoring.sentences import (
    TWO_WAY,
    axes_text,
    describe_scored,
    fusion_caveats,
    interval_text,
    scored_text,
)
from core.stats.arrays import Codes, Floats, count_codes, sum_by_group
from core.stats.comparison import (
    Comparison,
    Difference,
    Equivalence,
    Verdict,
    compare,
    compare_macro,
    equivalence,
    side_of,
    verdict_of,
    widen_difference,
)
from core.stats.intervals import Interval
from core.stats.multiplicity import adjust, p_value
from core.stats.official_score import point_values
from core.stats.ranks import midranks
from core.stats.row_changes import agreement
from core.stats.scores_and_labels import Scores, outcome_of, shared_rows
from core.stats.within_axis import scorable_genes
from core.transfer.fusion import FusionComparison
from core.transfer.run_cells import (
    ALL_ROWS,
    cells_of_cuts,
    distinct_protocols,
    folds_among,
    variances_between,
)

FEWEST_PAIRS = 1_000  # of a positive and a negative row inside the cells of two cuts
TESTS = "comparisons of runs on this dataset so far, including results in the ledger"
# The unit of resampling, by the attribute of a change. The first one decides.
UNITS = {"shown": "perturbation and gene", "row": "row", "pert": "perturbation", "gene": "gene"}
TOP_SHARE: Final = 0.1
MOVERS: Final = 5


@dataclass(frozen=True, slots=True)
class GeneCounts:
    """Numbers of genes in averages over genes, for DE and for DIR: genes where both runs have a
    score (used for the comparison), and genes of each run alone.
    """

    common: tuple[int, int]
    a: tuple[int, int]
    b: tuple[int, int]

    def sentences(self, a: str, b: str) -> list[str]:
        """Return how many genes averages count, and how many have a score of only one run."""
        sentences = []
        for name, common, of_a, of_b in zip(
            ("DE", "DIR"), self.common, self.a, self.b, strict=True
        ):
            if common and not common == of_a == of_b:
                alone = f"{a} alone has {of_a:,}, {b} alone {of_b:,}"
                sentences.append(
                    f"{name} is compared on the {common:,} genes for which both have a score;"
                    f" {alone}."
                )
            elif common:
                sentences.append(f"{name} is an average over {common:,} genes.")
        return sentences


@dataclass(frozen=True, slots=True)
class CountedComparison:
    """A comparison among all tests of its dataset: comparisons made, and results of the ledger.

    n: how many, with itself; p, holm: two-sided, of its mean.
    """

    n: int
    p: float
    holm: float

    @property
    def sentence(self) -> str:
        """The number of comparisons made, and the corrected p."""
        one_of = f"One of {self.n:,} {TESTS}"
        if self.n == 1:
            one_of = "This is the only comparison of runs on this dataset so far"
        if math.isnan(self.p):
            return f"{one_of}; it has no p."
        after = (
            f", after Holm's correction for all of them {quantity_text(self.holm)}"
            if self.n > 1
            else ""
        )
        return f"{one_of}: p = {quantity_text(self.p)}{after}."


@dataclass(frozen=True, eq=False)  # without slots, for what is computed once
class RunComparison:
    """The result "is run b better than run a?".

    covered: on the rows covered by both, the basis of conclusions; a, b: these rows of each, in the
    same order and with the same scoring. all_rows: on all rows of both, None if both cover them
    all. cuts_known: whether the noise of the cut of folds is in the intervals, if any folds were
    cut. DE, DIR and their mean are those of the dataset's headline, which `headline` names; pooled:
    the AUROCs over all pairs of the covered rows, None if they are the headline. genes: how many
    genes averages count, None if there are none. margin: the largest difference of the mean that
    would not matter, None if none was chosen. looked_at: among all comparisons of the dataset, None
    if it was not counted.
    """

    all_rows: Comparison | None
    cuts_known: bool
    a: RunRows = hidden()
    b: RunRows = hidden()
    covered: Comparison = inline()
    pooled: Comparison | None = None
    genes: GeneCounts | None = None
    margin: float | None = None
    looked_at: CountedComparison | None = None
    json_properties = (
        "p",
        "scored",
        "headline",
        "decision",
        "equivalence",
        "differences",
        "label_marks",
    )

    @property
    def names(self) -> tuple[str, str]:
        """The names of run a and run b."""
        return self.a.run.name, self.b.run.name

    @property
    def title(self) -> str:
        """The question."""
        return "Is {1} better than {0}?".format(*self.names)

    @property
    def p(self) -> float:
        """Two-sided, of the change of the mean."""
        return p_value(self.covered.mean.change.shown)

    @property
    def scored(self) -> str:
        """A description of the scoring of both."""
        return self.a.scored

    @property
    def headline(self) -> str:
        """A description of the mean."""
        return headline_name(self.a.headline)

    @property
    def decision(self) -> Verdict | None:
        """The verdict of the ledger's rule, the margin as the smallest difference worth having."""
        return (
            None if self.margin is None else verdict_of(self.covered.mean.change.shown, self.margin)
        )

    @property
    def equivalence(self) -> Equivalence | None:
        """Whether the mean lies within the margin."""
        return (
            None
            if self.margin is None
            else equivalence(self.covered.mean.change.shown, self.margin)
        )

    @cached_property
    def differences(self) -> dict[str, QuestionDifference]:
        """The differences in ranks, by question."""
        return {
            difference.name.lower(): difference for difference in run_differences(self.a, self.b)
        }

    @property
    def label_marks(self) -> LabelMarks:
        """How far the labels can be trusted."""
        return self.a.marks

    @property
    def judged(self) -> tuple[str, Difference] | None:
        """The difference that decides, with its name: of the mean, or of the one question that both
        runs answer."""
        by_gene = "" if self.pooled is None else f", {MACRO_HEADLINE}"
        names = {"mean": self.headline, "DE": f"DE{by_gene}", "DIR": f"DIR{by_gene}"}
        parts = self.covered.parts
        return next(
            (
                (names[name], parts[name])
                for name in names
                if not math.isnan(parts[name].change.value)
            ),
            None,
        )

    @property
    def scope(self) -> str:
        """Which rows count, and how they are scored."""
        a, b = self.names
        rows = f"{self.covered.n_labelled:,} labelled rows of both, {scored_text(self.scored)}"
        judged = self.judged
        better = "" if judged is None else f" · P(better) {judged[1].p_gt_0:.2f}"
        return f"{b} minus {a} · {rows} · {self.headline} · paired 95% intervals {TWO_WAY}{better}"

    @property
    def finding(self) -> str:
        """The verdict without its numbers, and on how many rows."""
        verdict = (
            self.sentence.rpartition(": ")[0].removesuffix(" on these rows")
            if self.covered.n_labelled
            else ""
        )
        return (
            f"{verdict} on {self.covered.n_labelled:,} labelled rows"
            if verdict
            else self.sentence.removesuffix(".")
        )

    @property
    def sentence(self) -> str:
        """The verdict."""
        if self.covered.n_labelled == 0:
            rows = f"on these {self.covered.n:,} rows"
            return (
                f"No labels here: {rows} the better run is unknown; only their differences are"
                " shown."
            )
        if self.judged is None:
            return (
                f"{self.covered.n_labelled:,} labelled rows, but for neither question do both runs"
                " have a score and the labels both classes. So there is no comparison."
            )
        name, part = self.judged
        return change_sentence(part.change.shown, name, *self.names)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to know before trusting it."""
        fusions = dict.fromkeys(
            each for rows in (self.a, self.b) for each in fusion_caveats(rows.run)
        )
        looked = self.looked_at.sentence if self.looked_at else ""
        return tuple(filter(None, (self.label_marks.sentence, *self.remarks, *fusions, looked)))

    @property
    def remarks(self) -> tuple[str, ...]:
        """The limits of the verdict; without labels, how the runs differ."""
        if self.covered.n_labelled == 0:
            return self.difference_sentences()
        if self.judged is None:
            return ()
        return (*self._remarks_on_change(), *self._remarks_on_scoring())

    def difference_sentences(self) -> tuple[str, ...]:
        """Return how the runs differ in ranks, which needs no labels."""
        return tuple(difference.describe(*self.names) for difference in self.differences.values())

    def tables(self) -> tuple[Table, ...]:
        """Return the changes by every unit of resampling, and how the ranks differ."""
        changes = [
            {
                "metric": metric,
                "unit": words,
                "change": getattr(part.change, unit),
                "rows": part.change.n,
            }
            for metric, part in self.covered.parts.items()
            for unit, words in UNITS.items()
        ]
        ranks = [
            {
                "question": difference.name,
                "rows": difference.n,
                "rank correlation": difference.spearman,
                "highest rows": difference.top,
            }
            | {"of both": difference.shared_top}
            for difference in self.differences.values()
        ]
        return Table("Changes", tuple(changes), ("change",)), Table("Ranks", tuple(ranks))

    def figure(self) -> Figure | None:
        """Return the changes with their intervals; None without one."""
        rows = [
            {**row, **row["change"].columns, "n": row["rows"]}
            for row in self.tables()[0].rows
            if not math.isnan(row["change"].estimate)
        ]
        if not rows:
            return None
        table = pd.DataFrame(rows)[["metric", "unit", "estimate", "low", "high", "n"]]
        return Figure(
            "core.plots.paired_changes:figure",
            {"table": table, "detectable": self.covered.mean.detectable},
            self.sentence,
        )

    def _remarks_on_change(self) -> list[str]:
        """Return what the intervals of the change allow to say."""
        a_part, mean = self.judged, self.covered.mean
        if math.isnan(mean.change.value):
            assert a_part is not None
            only = a_part[0].partition(",")[0]
            return [
                f"Only {only} can be compared: for the other question a run has no score, or the"
                " labels have one class."
            ]
        change = mean.change.shown
        if self.margin is not None:
            verdict = verdict_of(change, self.margin)
            words = {
                "confirmed": (
                    f"it is better, and the estimate is at least the {self.margin:g} that matters"
                ),
                "confirmed, small": f"it is better, by less than the {self.margin:g} that matters",
                "rejected": f"it is not better by the {self.margin:g} that matters",
                "harmful": "it is worse",
                "undecided": "these rows do not decide it",
                "no verdict": "these rows determine no interval",
            }
            return [
                f"{verdict.capitalize()}: {words[verdict]}.",
                _equality_sentence(equivalence(change, self.margin)),
            ]
        if side_of(change) != "open" or change.se == 0:
            return []
        low, high = (number_text(limit, "+.3f") for limit in (change.low, change.high))
        return [
            f"That does not mean that they are equal: every difference from {low} to {high} is"
            " compatible with these rows."
        ]

    def _remarks_on_scoring(self) -> list[str]:
        """Return how both runs were scored, and on which rows."""
        remarks = []
        if self.pooled is not None:
            pooled = {
                name: part.change.shown
                for name, part in self.pooled.parts.items()
                if name != "mean"
            }
            changes = {
                name: change for name, change in pooled.items() if not math.isnan(change.estimate)
            }
            words = ", ".join(
                f"{name} by {interval_text(change, signed=True)}"
                for name, change in changes.items()
            )
            remarks.append(f"Pooled over genes, {words}.")
        if self.genes is not None:
            remarks += self.genes.sentences(*self.names)
        if self.scored != ALL_ROWS:
            remarks.append(f"Both are scored {describe_scored(self.scored)}.")
        if not self.cuts_known:
            remarks.append(
                "The variation over other cuts of the folds is not recorded, so the intervals do"
                " not include it."
            )
        if self.all_rows is not None:
            everywhere = interval_text(self.all_rows.mean.change.shown, signed=True)
            remarks.append(
                f"Compared on the {self.covered.n:,} of {self.all_rows.n:,} rows that both cover;"
                f" with base rates in the other rows the mean differs by {everywhere}."
            )
        return remarks


def _equality_sentence(test: Equivalence) -> str:
    if test.equal:
        return f"They are equal within ±{test.margin:g} (two one-sided tests, p {test.p:.3f})."
    return (
        f"Equality within ±{test.margin:g} is not shown (two one-sided tests, p {test.p:.3f}); "
        f"these rows would show it for ±{test.smallest_margin:.3f}."
    )


def change_sentence(change: Interval, name: str, a: str, b: str) -> str:
    """Return whether b is better than a, by the change of a metric with this name."""
    rows = rows_behind(name, change.n)
    if change.se == 0 and change.estimate == 0:
        return (
            f"{b} and {a} are equal in {name}: each of {rows} has the same rank against the other"
            " class."
        )
    numbers = f"{name} {interval_text(change, signed=True)}, {axes_text(change)}, {rows}"
    side = side_of(change)
    if side in ("above", "below"):
        return f"{b} is {'better' if side == 'above' else 'worse'} than {a}: {numbers}."
    return f"{b} and {a} cannot be distinguished on these rows: {numbers}."


@dataclass(frozen=True, slots=True, eq=False)
class ComparedRun:
    """One of several comparisons. p_holm, p_bh: of its mean, corrected for their number."""

    a: str
    b: str
    p_holm: float
    p_bh: float
    comparison: RunComparison = inline()


@dataclass(frozen=True, slots=True, eq=False)
class SeveralComparisons:
    """The result of comparing runs with several others, p-values corrected for their number."""

    comparisons: tuple[ComparedRun, ...]

    @classmethod
    def of(cls, comparisons: Sequence[RunComparison]) -> Self:
        """Return the comparisons with their corrected p."""
        adjusted = adjust([comparison.p for comparison in comparisons])
        pairs = zip(comparisons, adjusted, strict=True)
        return cls(
            tuple(
                ComparedRun(*comparison.names, p.holm, p.benjamini_hochberg, comparison)
                for comparison, p in pairs
            )
        )

    @property
    def title(self) -> str:
        """What is compared."""
        return f"{len(self.comparisons)} comparisons"

    @property
    def sentence(self) -> str:
        """Each verdict."""
        return " ".join(compared.comparison.sentence for compared in self.comparisons)

    @property
    def scope(self) -> str:
        """How the intervals and the p are made."""
        return (
            f"b minus a · paired 95% intervals {TWO_WAY} · p corrected for these"
            f" {len(self.comparisons)} comparisons"
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """Those of every comparison, and which comparison each limit is of."""
        caveats = []
        for compared in self.comparisons:
            remarks, about = compared.comparison.remarks, f"{compared.b} against {compared.a}: "
            caveats += [
                f"{about}{text}" if text in remarks else text
                for text in compared.comparison.caveats
            ]
        return tuple(dict.fromkeys(caveats))

    def tables(self) -> tuple[Table, ...]:
        """Return a row for each comparison."""
        return (
            Table(
                "Comparisons",
                tuple(map(_comparison_row, self.comparisons)),
                ("Δ DE", "Δ DIR", "Δ mean"),
            ),
        )

    def figure(self) -> None:
        """Return None: the changes are in the table."""


def _comparison_row(each: ComparedRun) -> dict[str, Any]:
    comparison = each.comparison
    changes = {f"Δ {name}": part.change.shown for name, part in comparison.covered.parts.items()}
    p = {"p": comparison.p, "Holm": each.p_holm, "Benjamini–Hochberg": each.p_bh}
    return {
        "b": each.b,
        "a": each.a,
        "labelled rows": comparison.covered.n_labelled,
        "scored": comparison.scored,
        **changes,
        **p,
    }


def pair_runs(a: RunRows, b: RunRows) -> tuple[RunRows, RunRows]:
    """Return two runs on their common rows, scored inside the cells of both.

    Raise InputError for runs on different datasets, without a common row, or made under two cuts
    with too few pairs inside the cells of both.
    """
    if a.run.dataset != b.run.dataset:
        raise InputError(
            f"{a.run.name} and {b.run.name}: on different datasets with different labels; expected"
            " one dataset"
        )
    if np.array_equal(a.positions, b.positions) and np.all(np.diff(a.positions) > 0):
        common = a, b  # nothing is copied
    else:
        _, in_a, in_b = np.intersect1d(
            a.positions, b.positions, assume_unique=True, return_indices=True
        )
        common = a.take(in_a), b.take(in_b)
    if not len(common[0]):
        raise InputError(
            f"{a.run.name} and {b.run.name}: no row in common; expected runs with common rows"
        )
    protocols = distinct_protocols((*a.protocols, *b.protocols))
    pair = common[0].under(protocols), common[1].under(protocols)
    if len(folds_among(protocols)) > max(
        len(folds_among(a.protocols)), len(folds_among(b.protocols)), 1
    ):
        _refuse_few_pairs(*pair)
    return pair


def _refuse_few_pairs(a: RunRows, b: RunRows) -> None:
    outcome, cells = outcome_of(a.labels), a.cells
    assert cells is not None
    sides = (
        ("DE", outcome.effect, outcome.labelled & ~outcome.effect),
        ("DIR", outcome.up, outcome.directed & ~outcome.up),
    )
    for name, positive, negative in sides:
        n_cells = count_codes(cells)
        n_pairs = int(
            (sum_by_group(cells, n_cells, positive) * sum_by_group(cells, n_cells, negative)).sum()
        )
        if n_pairs < FEWEST_PAIRS:
            raise InputError(
                f"{a.run.name} and {b.run.name}: made under different cuts, {a.scored}, with"
                f" {n_pairs:,} pairs of rows for {name} inside both; expected {FEWEST_PAIRS:,}."
                " Make one of them again with the seed of the other"
            )


def compare_runs(a: RunRows, b: RunRows) -> RunComparison:
    """Run b against run a on the rows that both have. Raise InputError as `pair_runs` does."""
    pair = pair_runs(a, b)
    both = pair[0].covered & pair[1].covered
    covered = pair if both.all() else (pair[0].take(both), pair[1].take(both))
    # b minus a in DE and DIR under each cut, of shape (n_cuts, 2)
    differences: Floats | None = NO_CUTS
    if folds_among(pair[0].protocols):
        rows, n_cuts = pair[0], max(len(a.cuts), len(b.cuts))
        # looked at by at most one of the two: the other one was made under folds
        cells = cells_of_cuts(rows.protocols, rows.index, rows.positions, range(n_cuts))
        of_a, of_b = (
            scores_of_cuts(run, rows.scores, rows.labels, cells)
            for run, rows in zip((a, b), pair, strict=True)
        )
        differences = (
            None if of_a is None or of_b is None or len(of_a) != len(of_b) else of_b - of_a
        )
    sound = without_stand_ins(covered[0]), without_stand_ins(covered[1])
    is_macro = a.headline == "macro"
    return RunComparison(
        None if both.all() else _compare_headline(*pair, differences),
        a=covered[0],
        b=covered[1],
        covered=_compare_headline(*sound, differences),
        cuts_known=differences is not None and not (is_macro and folds_among(pair[0].protocols)),
        pooled=_compare(*sound, differences) if is_macro else None,
        genes=_count_genes(a, b, sound) if is_macro else None,
    )


def _count_genes(a: RunRows, b: RunRows, sound: tuple[RunRows, RunRows]) -> GeneCounts:
    common = replace(sound[0], scores=shared_rows(sound[0].scores, sound[1].scores)[0])
    counts = (
        scorable_genes(rows.arrays) for rows in (common, without_stand_ins(a), without_stand_ins(b))
    )
    return GeneCounts(*counts)


def _compare_headline(a: RunRows, b: RunRows, cut_differences: Floats | None) -> Comparison:
    """Return the comparison by the dataset's headline. Scores of other cuts are known only for the
    pooled AUROCs."""
    if a.headline == "macro":
        return compare_macro(a.arrays, b.arrays)
    return _compare(a, b, cut_differences)


def _compare(a: RunRows, b: RunRows, cut_differences: Floats | None) -> Comparison:
    comparison = compare(a.labels, a.scores, b.scores, a.pert, a.gene, a.cells)
    variances = variances_between(NO_CUTS if cut_differences is None else cut_differences)
    of_a, of_b = variances_between(a.cuts), variances_between(b.cuts)
    parts = zip(
        (comparison.de, comparison.dir, comparison.mean), of_a, of_b, variances, strict=True
    )
    de, direction, mean = (widen_difference(*each) for each in parts)
    return replace(comparison, de=de, dir=direction, mean=mean)


def scores_of_cuts(
    run: RunRows, scores: Scores, labels: ArrayLike, cells: Iterable[Codes | None]
) -> Floats | None:
    """Return DE and DIR of a run under each cut, of shape (n_cuts, 2); None if they are unknown.

    A run that was made without folds has the same numbers under every cut, and is scored inside the
    cells of each. scores, labels, cells: of those of its rows that are compared; the cells under
    the protocols of both runs, in each cut.
    """
    if folds_among(run.protocols):
        return run.cuts if len(run.cuts) else None
    outcome = outcome_of(labels)
    values = [point_values(outcome, scores, cut) for cut in cells]
    return np.array(values) if values else None


def add_cut_noise(found: FusionComparison, before: Floats, after: Floats) -> FusionComparison:
    """Return a live comparison with the variance between cuts in its intervals.

    before, after: DE and DIR of the baseline and of the fusion under each cut, of shape (n_cuts,
    2).
    """
    variances = variances_between(np.stack((before, after, after - before))).T.tolist()
    parts = zip((found.de, found.dir, found.mean), variances, strict=True)
    de, direction, mean = (widen_difference(part, *of_part) for part, of_part in parts)
    return replace(found, de=de, dir=direction, mean=mean)


@dataclass(frozen=True, slots=True, eq=False)
class QuestionDifference:
    """The difference in ranks of the same rows between two runs, by one score.

    name: DE or DIR. n: rows for which both have the score; spearman: their rank correlation. top: a
    tenth of them; shared_top: number of rows, ties included, that are at the top of both. movers:
    of the rows whose rank moves most, pair_id, rank_a and rank_b (1 is the highest), the largest
    move first.
    """

    name: str
    n: int
    spearman: float
    top: int
    shared_top: int
    movers: tuple[dict[str, Any], ...]

    def describe(self, a: str, b: str) -> str:
        """Return how run b differs from run a in this question."""
        start = (
            f"{self.name}: rank correlation {number_text(self.spearman)} over {self.n:,} rows; of"
            f" the {self.top:,} highest rows of each, ties included, {self.shared_top:,} are the"
            " same."
        )
        if not self.movers:
            return f"{start} No row moves in {self.name}."
        moves = ", ".join(
            f"{row['pair_id']} {row['rank_a']:,.0f} → {row['rank_b']:,.0f}" for row in self.movers
        )
        return f"{start} Rows that move most in {self.name}, rank in {a} → rank in {b}: {moves}."


def run_differences(a: RunRows, b: RunRows) -> tuple[QuestionDifference, ...]:
    """Return how two runs on the same rows differ in the questions for which both have a score;
    nothing in it needs labels."""
    ids, rho = a.frame["pair_id"].to_numpy(), agreement(a.scores, b.scores)
    sides = (
        ("DE", rho.de, a.scores.p_de, b.scores.p_de),
        ("DIR", rho.up, a.scores.p_up, b.scores.p_up),
    )
    questions = (
        _question(name, ids, spearman, first, second) for name, spearman, first, second in sides
    )
    return tuple(difference for difference in questions if difference is not None)


def _question(
    name: str, ids: Any, spearman: float, a: Floats, b: Floats
) -> QuestionDifference | None:
    both = ~np.isnan(a) & ~np.isnan(b)
    n = int(both.sum())
    if n < 2:
        return None
    rank_a, rank_b = (n + 1 - midranks(values[both]) for values in (a, b))
    top = max(1, round(TOP_SHARE * n))
    top_a, top_b = (values[both] >= np.partition(values[both], -top)[-top] for values in (a, b))
    order = np.argsort(-np.abs(rank_b - rank_a), kind="stable")[:MOVERS]
    order = order[rank_a[order] != rank_b[order]]
    columns = zip(
        ids[both][order].tolist(), rank_a[order].tolist(), rank_b[order].tolist(), strict=True
    )
    movers = tuple(
        {"pair_id": pair_id, "rank_a": old, "rank_b": new} for pair_id, old, new in columns
    )
    return QuestionDifference(name, n, spearman, top, int((top_a & top_b).sum()), movers)
