"""Scores and comparisons in words: what can be concluded from them and what cannot."""

from __future__ import annotations

import math

from core.scoring.compare_runs import RunComparison
from core.scoring.run_scores import RunScore
from core.stats.intervals import Interval, Unit
from core.texts import estimate_text, number_text
from core.transfer.protocols import Evaluation, EvaluationProtocol
from core.transfer.run_cells import ALL_ROWS

FEW_CLUSTERS = 40  # fewer are named beside an interval
_AXES: dict[Unit, str] = {
    "two-way": "by perturbations and genes",
    "pert": "by perturbations",
    "gene": "by genes",
    "row": "by rows",
    "stratum": "by strata",
}
_SINGLE: dict[Unit, tuple[str, ...]] = {
    "two-way": (),
    "pert": ("a single gene",),
    "gene": ("a single perturbation",),
    "row": (),
    "stratum": (),
}


def interval_text(value: Interval, *, signed: bool = False) -> str:
    """An interval as "0.621 [0.604, 0.638]", with a sign for a change, and an en dash if it is unknown."""
    return estimate_text(value.estimate, value.low, value.high, "+.3f" if signed else ".3f")


def axes_text(shown: Interval) -> str:
    """What the interval shown of an estimate takes to be independent, with the number of clusters where they are few."""
    few = shown.clusters is not None and shown.clusters < FEW_CLUSTERS
    remarks = [*_SINGLE[shown.unit], *([f"{shown.clusters} clusters"] if few else [])]
    return _AXES[shown.unit] + (f" ({', '.join(remarks)})" if remarks else "")


def score_sentences(found: RunScore) -> list[str]:
    """A run's score, one sentence a line: its rows, how they were scored, the numbers, and those without stand-ins."""
    whole = found.whole
    counts = f"{whole.n:,} rows, {whole.n_labelled:,} labelled, {whole.n_de:,} with an effect"
    if whole.n_labelled == 0:
        return [f"{counts}: no labels here, so no score"]
    parts = {"DE": whole.de, "DIR": whole.dir, "mean": whole.mean}
    lines = [f"{name:5} {interval_text(part.shown)}  {axes_text(part.shown)}" for name, part in parts.items()]
    return [counts, *lines, *(f"{sentence}." for sentence in scoring_sentences(found))]


def scoring_sentences(found: RunScore) -> list[str]:
    """How a run was scored, what other cuts of its folds score, and its score without stand-ins."""
    sentences = [f"Scored {_WAYS.get(found.whole.scored, found.whole.scored)}"]
    if len(found.cuts):
        low, high = found.cuts.min(axis=0), found.cuts.max(axis=0)
        sentences[0] += (
            f"; {len(found.cuts)} cuts of the folds score DE {low[0]:.3f} to {high[0]:.3f}, DIR {low[1]:.3f} to {high[1]:.3f}, "
            "which is part of the intervals"
        )
    elif "cut" in found.whole.scored:
        sentences[0] += "; what other cuts of the folds score is not recorded, so it is not in the intervals"
    if found.covered is not None:
        on = found.covered
        sentences.append(
            f"{found.n_uncovered:,} rows are stand-ins at the base rate; on the {on.n:,} others DE {number_text(on.de.value)}, "
            f"DIR {number_text(on.dir.value)}, mean {number_text(on.mean.value)}"
        )
    return sentences


_WAYS = {ALL_ROWS: f"over {ALL_ROWS}", "leave-one-out": "as leave-one-out, which is biased where similarities are flat"}


def comparison_sentences(found: RunComparison, a: str, b: str) -> list[str]:
    """What can and what cannot be concluded about run `b` against run `a`, one sentence each."""
    result = found.covered
    if result.n_labelled == 0:
        return [f"No labels here: on these {result.n:,} rows nothing can be said about which is better, only how they differ."]
    mean = result.mean
    change = mean.change.shown
    if math.isnan(change.estimate):
        return [f"{result.n_labelled:,} labelled rows, but only one class: no AUROC, so no comparison."]
    sentences = [_mean_sentence(change, a, b)]
    if change.low <= 0 <= change.high:
        sentences.append(
            f"That is not evidence that they are equal: with 80% power these {result.n_labelled:,} rows show a difference of "
            f"{mean.detectable:.3f} or more."
        )
    if (change.low <= 0 <= change.high) != (mean.change.row.low <= 0 <= mean.change.row.high):
        sentences.append(
            f"By rows alone the interval is {interval_text(mean.change.row, signed=True)}; rows share perturbations and genes, "
            "so the wider one counts."
        )
    moved = [name for name, part in (("DE", result.de), ("DIR", result.dir)) if _differs(part.change.shown)]
    if len(moved) == 1:
        sentences.append(f"Only {moved[0]} differs by itself.")
    return [*sentences, *_comparison_remarks(found)]


def _comparison_remarks(found: RunComparison) -> list[str]:
    """How both runs were scored, and on which rows."""
    remarks = []
    if found.scored != ALL_ROWS:
        remarks.append(f"Both are scored {found.scored}.")
    if not found.cuts_known:
        remarks.append("What other cuts of the folds would change is not recorded, so it is not in the intervals.")
    if found.all_rows is not None:
        everywhere = interval_text(found.all_rows.mean.change.shown, signed=True)
        remarks.append(
            f"Compared on the {found.covered.n:,} of {found.all_rows.n:,} rows that both cover; with stand-ins at base rates "
            f"in the other rows the mean differs by {everywhere}."
        )
    return remarks


def _differs(change: Interval) -> bool:
    return not change.low <= 0 <= change.high


def _mean_sentence(change: Interval, a: str, b: str) -> str:
    interval = interval_text(change, signed=True)
    if change.low > 0:
        return f"{b} is better than {a}: mean of DE and DIR {interval}, {axes_text(change)}."
    if change.high < 0:
        return f"{b} is worse than {a}: mean of DE and DIR {interval}, {axes_text(change)}."
    return f"These rows do not tell {b} from {a}: mean of DE and DIR {interval}, {axes_text(change)}."


def knn_sentences(evaluation: Evaluation, protocol: EvaluationProtocol) -> list[str]:
    """The scores of a kNN in words, beside those of an empty space under the same protocol."""
    covered = f"{evaluation.covered.n:,} of {evaluation.null.n:,} rows covered ({evaluation.coverage:.1%})"
    if evaluation.score.n_labelled == 0:
        return [f"{covered}; no labels here, so no score."]
    lines = [covered]
    for name, score, null in (
        ("DE", evaluation.score.de, evaluation.null.de),
        ("DIR", evaluation.score.dir, evaluation.null.dir),
    ):
        lines.append(
            f"{name} {interval_text(score.shown)} {axes_text(score.shown)}; an empty space would score {null.value:.3f} here"
        )
    if protocol.kind == "loo":
        lines.append(
            "Leave-one-out biases flat similarities against the labels that it leaves out: read it beside its null, "
            "and claim from folds."
        )
    else:
        lines.append(f"AUROC inside the {protocol.k}×{protocol.k} cells of folds, combined by their number of pairs.")
    return lines


def knn_sentence(evaluation: Evaluation, protocol: EvaluationProtocol) -> str:
    """The scores of a kNN by itself in one sentence, beside those of an empty space under the same protocol."""
    where = f"inside {protocol.k}×{protocol.k} folds" if protocol.kind == "folds" else "leave-one-out"
    scores = ", ".join(
        f"{name} {number_text(score.value)} (an empty space {number_text(null.value)})"
        for name, score, null in (
            ("DE", evaluation.score.de, evaluation.null.de),
            ("DIR", evaluation.score.dir, evaluation.null.dir),
        )
    )
    return f"neighbours alone, {where}, on {evaluation.score.n:,} rows: {scores}"


def beats_control(against_counts: RunComparison) -> str:
    """Whether a run's DE is above the count-only control's on the same rows: yes, no or cannot tell."""
    change = against_counts.covered.de.change.shown
    if math.isnan(change.estimate):
        return "–"
    return "yes" if change.low > 0 else "no" if change.high < 0 else "cannot tell"
