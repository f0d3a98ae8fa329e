"""The comparison of two runs in words: its conclusions and their limits."""

from __future__ import annotations

import math

from core.scoring.compare_runs import GeneCounts, RunComparison, difference_sentences, run_differences
from core.scoring.run_scores import MACRO_HEADLINE
from core.scoring.sentences import axes_text, describe_scored, interval_text
from core.stats.comparison import Equivalence, equivalence
from core.stats.intervals import Interval
from core.stats.verdicts import side_of, verdict_of
from core.texts import number_text, rows_behind
from core.transfer.run_cells import ALL_ROWS


def comparison_sentences(found: RunComparison, a: str, b: str, margin: float | None = None) -> list[str]:
    """Return the conclusions about run `b` against run `a` and their limits, as sentences.

    margin: the largest difference of the mean that would not matter, or None.
    """
    result = found.covered
    if result.n_labelled == 0:
        return [
            f"No labels here: on these {result.n:,} rows the better run is unknown; only their differences are shown.",
            *difference_sentences(run_differences(found.pair), a, b),
        ]
    mean = result.mean
    change = mean.change.shown
    if math.isnan(change.estimate):
        return _one_axis_sentences(found, a, b)
    sentences = [_change_sentence(change, found.headline_name, a, b)]
    side = side_of(change)
    if margin is not None:
        sentences += [_margin_sentence(change, margin), _equality_sentence(equivalence(change, margin))]
    elif side == "open" and change.se > 0:
        low, high = (number_text(limit, "+.3f") for limit in (change.low, change.high))
        sentences.append(
            f"That does not mean that they are equal: every difference from {low} to {high} is compatible with these rows."
        )
    if side != "none" and (side == "open") != (side_of(mean.change.row) == "open"):
        sentences.append(
            f"By rows alone, the interval is {interval_text(mean.change.row, signed=True)}. Rows share perturbations and genes, "
            "so the wider one counts."
        )
    moved = [name for name, part in (("DE", result.de), ("DIR", result.dir)) if side_of(part.change.shown) in ("above", "below")]
    if len(moved) == 1:
        sentences.append(f"Of DE and DIR, only the change of {moved[0]} is distinguishable from 0.")
    return [*sentences, *_comparison_remarks(found, a, b)]


def _one_axis_sentences(found: RunComparison, a: str, b: str) -> list[str]:
    """Return the comparison in the only question with scores of both runs and labels of both classes, if there is one."""
    result = found.covered
    parts = {name: part for name, part in (("DE", result.de), ("DIR", result.dir)) if not math.isnan(part.change.value)}
    if not parts:
        return [
            f"{result.n_labelled:,} labelled rows, but for neither question do both runs have a score and the labels both "
            "classes. So there is no comparison."
        ]
    by_gene = "" if found.pooled is None else f", {MACRO_HEADLINE}"
    return [
        *(_change_sentence(part.change.shown, f"{name}{by_gene}", a, b) for name, part in parts.items()),
        f"Only {next(iter(parts))} can be compared: for the other question a run has no score, or the labels have one class.",
        *_comparison_remarks(found, a, b),
    ]


def _margin_sentence(change: Interval, margin: float) -> str:
    """Return the verdict of the ledger's rule, the margin as the smallest difference worth having."""
    words = {
        "confirmed": f"it is better, and the estimate is at least the {margin:g} that matters",
        "confirmed, small": f"it is better, by less than the {margin:g} that matters",
        "rejected": f"it is not better by the {margin:g} that matters",
        "harmful": "it is worse",
        "undecided": "these rows do not decide it",
        "no verdict": "these rows determine no interval",
    }
    verdict = verdict_of(change, margin)
    return f"{verdict.capitalize()}: {words[verdict]}."


def _equality_sentence(found: Equivalence) -> str:
    if found.equal:
        return f"They are equal within ±{found.margin:g} (two one-sided tests, p {found.p:.3f})."
    return (
        f"Equality within ±{found.margin:g} is not shown (two one-sided tests, p {found.p:.3f}); "
        f"these rows would show it for ±{found.smallest_margin:.3f}."
    )


def _comparison_remarks(found: RunComparison, a: str, b: str) -> list[str]:
    """Return how both runs were scored, and on which rows."""
    remarks = []
    if found.pooled is not None:
        pooled = {"DE": found.pooled.de, "DIR": found.pooled.dir}
        known = {name: part.change.shown for name, part in pooled.items() if not math.isnan(part.change.value)}
        words = ", ".join(f"{name} by {interval_text(change, signed=True)}" for name, change in known.items())
        remarks.append(f"Pooled over genes, {words}.")
    if found.genes is not None:
        remarks += _gene_remarks(found.genes, a, b)
    if found.scored != ALL_ROWS:
        remarks.append(f"Both are scored {describe_scored(found.scored)}.")
    if not found.cuts_known:
        remarks.append("The variation over other cuts of the folds is not recorded, so the intervals do not include it.")
    if found.all_rows is not None:
        everywhere = interval_text(found.all_rows.mean.change.shown, signed=True)
        remarks.append(
            f"Compared on the {found.covered.n:,} of {found.all_rows.n:,} rows that both cover; with base rates in the other "
            f"rows the mean differs by {everywhere}."
        )
    return remarks


def _gene_remarks(found: GeneCounts, a: str, b: str) -> list[str]:
    """Return sentences on the numbers of genes in averages, and on genes with a score of only one run."""
    remarks = []
    for name, common, of_a, of_b in zip(("DE", "DIR"), found.common, found.a, found.b, strict=True):
        if common and not common == of_a == of_b:
            alone = f"{a} alone has {of_a:,}, {b} alone {of_b:,}"
            remarks.append(f"{name} is compared on the {common:,} genes for which both have a score; {alone}.")
        elif common:
            remarks.append(f"{name} is an average over {common:,} genes.")
    return remarks


def _change_sentence(change: Interval, name: str, a: str, b: str) -> str:
    if change.se == 0 and change.estimate == 0:
        return (
            f"{b} and {a} are equal in {name}: each of {rows_behind(name, change.n)} has the same rank against the other class."
        )
    found = f"{name} {interval_text(change, signed=True)}, {axes_text(change)}, {rows_behind(name, change.n)}"
    side = side_of(change)
    if side in ("above", "below"):
        return f"{b} is {'better' if side == 'above' else 'worse'} than {a}: {found}."
    return f"{b} and {a} cannot be distinguished on these rows: {found}."
