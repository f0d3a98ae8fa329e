"""Sentences on scores and comparisons, and on the conclusions that they allow."""

from __future__ import annotations

import math
from collections.abc import Sequence

from core.scoring.other_scores import METRICS, OtherScores
from core.scoring.run_scores import Headline, RunScore
from core.stats.delong import Estimate
from core.stats.intervals import Interval, Resampled, Unit, why_no_interval
from core.stats.within_axis import Axis, WithinAxis
from core.texts import estimate_text, number_text, range_text, rows_behind
from core.transfer import cuts
from core.transfer.cuts import MeanOfCuts
from core.transfer.evaluation import Evaluation
from core.transfer.permutation_null import KnnNumbers, PermutationNull, PermutationTest, means_of
from core.transfer.protocols import EvaluationProtocol
from core.transfer.run_cells import ALL_ROWS

TWO_WAY = "allowing for shared perturbations and genes"  # describes a two-way interval
UNSEEN = "only on genes and perturbations whose labels the neighbours never saw"  # what scoring inside the cells of folds does
FEW_CLUSTERS = 40  # an interval mentions smaller numbers of clusters
_AXES: dict[Unit, str] = {
    "two-way": TWO_WAY,
    "pert": "allowing for shared perturbations",
    "gene": "allowing for shared genes",
    "row": "by rows",
    "stratum": "by strata",
}
_GROUPS: dict[Axis, str] = {"gene": "genes", "pert": "perturbations"}
_SINGLE: dict[Unit, tuple[str, ...]] = {
    "two-way": (),
    "pert": ("a single gene",),
    "gene": ("a single perturbation",),
    "row": (),
    "stratum": (),
}


def interval_text(value: Interval, *, signed: bool = False) -> str:
    """Return an interval as "0.621 [0.604, 0.638]", with a sign for a change, and an en dash if it is unknown."""
    return estimate_text(*value.ends, "+.3f" if signed else ".3f")


def limits_text(value: Interval) -> str:
    """Return the ends of an interval, "[0.604, 0.638]", where its estimate is shown already."""
    return range_text(value.low, value.high)


def resampled_line(mean: Resampled) -> str:
    """The mean score with its interval by the product bootstrap, and by how many resamples."""
    of = f"{mean.method} of perturbations and genes, {mean.resamples:,} resamples: conservative"
    return f"mean  {interval_text(mean)}  {of}"


def axes_text(shown: Interval) -> str:
    """Return the units that the shown interval treats as independent, with the number of clusters if it is small, or why there
    is no interval.
    """
    why = why_no_interval(shown)
    return f"no interval: {why}" if why else allowed_text(shown)


def allowed_text(shown: Interval) -> str:
    """Return the units that an interval treats as independent, with the number of clusters if it is small."""
    few = shown.clusters is not None and shown.clusters < FEW_CLUSTERS
    remarks = [*_SINGLE[shown.unit], *([f"{shown.clusters} clusters"] if few else [])]
    return _AXES[shown.unit] + (f" ({', '.join(remarks)})" if remarks else "")


def score_sentences(found: RunScore) -> list[str]:
    """Return a run's score, one sentence per line: its rows, how they were scored, the numbers, and those without stand-ins."""
    whole = found.whole
    counts = f"{whole.n:,} rows, {whole.n_labelled:,} labelled, {whole.n_de:,} with an effect"
    if whole.n_labelled == 0:
        return [f"{counts}: no labels here, so no score"]
    parts = {"DE": whole.de.shown, "DIR": whole.dir.shown, "mean": whole.mean.shown}
    lines = [f"{name:5} {interval_text(part)}  {_interval_words(part)}" for name, part in parts.items()]
    lines = [
        f"{line}, {rows_behind(name, part.n)}" if part.n else line
        for line, (name, part) in zip(lines, parts.items(), strict=True)
    ]
    return [counts, *_headline_lines(found.headline), *lines, *(f"{sentence}." for sentence in scoring_sentences(found))]


def _headline_lines(found: Headline) -> list[str]:
    """Return the headline of a dataset that is judged by averages over genes, before the pooled scores.

    None for the mean of those.
    """
    if found.genes is None or math.isnan(found.value.estimate):
        return []
    parts = {name: value for name, value in (("DE", found.de), ("DIR", found.dir)) if not math.isnan(value.estimate)}
    lines = [f"{name:5} {interval_text(value)}  {axes_text(value)}" for name, value in parts.items()]
    if len(parts) > 1:
        lines.append(f"mean  {interval_text(found.value)}  {axes_text(found.value)}")
    return [f"{found.name}, over {genes_text(found)}:", *lines, "pooled:"]


def genes_text(found: Headline) -> str:
    """Return how many genes each question counts that a headline averages over genes: "3,912 genes for DE, 598 for DIR"."""
    counts = zip(("DE", "DIR"), (found.de, found.dir), found.genes or (0, 0), strict=True)
    counted = [(name, n) for name, value, n in counts if not math.isnan(value.estimate)]
    return ", ".join(f"{n:,}{' genes' if i == 0 else ''} for {name}" for i, (name, n) in enumerate(counted)) or "no genes"


def _interval_words(shown: Interval) -> str:
    """Return the text beside a score: the units of its interval, or why there is no score."""
    if math.isnan(shown.estimate):
        return "no score: the run does not rank rows by it, or the labels have one class"
    return axes_text(shown)


def same_runs_sentence(name: str, others: Sequence[str]) -> str:
    """Return a sentence on other runs with the same predictions; empty without any."""
    return f"{name} has the same predictions as {' and '.join(others)}: they are one run." if others else ""


def other_score_sentences(found: OtherScores) -> list[str]:
    """Return the means over genes and perturbations, one line each; none without labels."""
    if found.whole.n_labelled == 0:
        return []
    lines = {"mean over genes": found.within_gene, "mean over perturbations": found.within_pert}
    return [f"{title}: {', '.join(_macro_texts(means))}" for title, means in lines.items()]


def macro_sentence(found: WithinAxis) -> str:
    """Return a sentence with the unweighted means of the AUROCs of genes, or of perturbations."""
    return f"unweighted mean over {_GROUPS[found.axis]} with both classes: {', '.join(_macro_texts(found))}, {TWO_WAY}"


def _macro_texts(found: WithinAxis) -> list[str]:
    parts = {name: getattr(found, metric) for name, metric in METRICS.items()}
    return [f"{name} {interval_text(one.macro.shown)} ({one.groups:,} {_GROUPS[found.axis]})" for name, one in parts.items()]


def alone_sentence(found: RunScore) -> str:
    """Return a run's own score, for comparison with a run made from it."""
    whole = found.whole
    values = f"DE {number_text(whole.de.value)}, DIR {number_text(whole.dir.value)}"
    return f"alone, {scored_text(whole.scored)}, on its {whole.n_labelled:,} labelled rows: {values}"


def scoring_sentences(found: RunScore) -> list[str]:
    """Return sentences on a run's scoring, the scores of other cuts of its folds, and its score without stand-ins."""
    sentences = [f"Scored {describe_scored(found.whole.scored)}"]
    if len(found.cuts):
        low, high = found.cuts.min(axis=0), found.cuts.max(axis=0)
        sentences[0] += (
            f"; {len(found.cuts)} cuts of the folds score DE {low[0]:.3f} to {high[0]:.3f}, DIR {low[1]:.3f} to {high[1]:.3f}, "
            "which is part of the intervals"
        )
    elif "cut" in found.whole.scored:
        sentences[0] += "; the scores of other cuts of the folds are not recorded, so the intervals do not include them"
    if found.covered is not None:
        on = found.covered
        sentences.append(
            f"{found.n_uncovered:,} of {found.whole.n:,} rows have the base rate; on the {on.n_labelled:,} labelled "
            f"rows among the others DE {number_text(on.de.value)}, "
            f"DIR {number_text(on.dir.value)}, mean {number_text(on.mean.value)}"
        )
    return sentences


_SHORT_WAYS = {ALL_ROWS: f"over {ALL_ROWS}", "leave-one-out": "as leave-one-out"}
_WAYS = {
    ALL_ROWS: f"over {ALL_ROWS}",
    "leave-one-out": "as leave-one-out, which is biased if all genes are about equally similar",
}


def scored_text(scored: str) -> str:
    """Return which pairs of rows count (`run_cells.describe_scoring`), for a caption: "scored over all rows"."""
    return f"scored {_SHORT_WAYS.get(scored, scored)}"


def describe_scored(scored: str) -> str:
    """Describe the counted pairs of rows (`run_cells.describe_scoring`) for people."""
    return f"{UNSEEN} ({scored})" if "cells" in scored else _WAYS.get(scored, scored)


def knn_sentences(numbers: KnnNumbers) -> list[str]:
    """Return the scores of a kNN in words, one line each: of its space first, then of one run of it."""
    found = numbers.evaluation
    covered = f"{found.covered.n:,} of {found.null.n:,} rows covered ({found.coverage:.1%})"
    if found.score.n_labelled == 0:
        return [f"{covered}; no labels here, so no score."]
    if numbers.cuts is None:
        return [covered, *_lines_of_protocol(found, numbers.protocol)]
    return [covered, *_lines_of_cuts(numbers, numbers.cuts)]


def _lines_of_cuts(numbers: KnnNumbers, mean: MeanOfCuts) -> list[str]:
    every, some, own = mean.all_rows, mean.covered.score, numbers.evaluation.score
    parts = {"DE": every.score.de, "DIR": every.score.dir, "mean": every.score.mean}
    nulls = {name: f"; {null_text(test)}" for name, test in zip(parts, numbers.test_against_null() or (), strict=False)}
    lines = [f"{cuts.NAME}, inside {mean.k}×{mean.k} cells, over all rows (base rates where no row is similar):"]
    lines += [f"{name} {interval_text(part.shown)} {axes_text(part.shown)}{nulls.get(name, '')}" for name, part in parts.items()]
    if numbers.null is not None:
        n = len(numbers.null.values)
        lines.append(
            f"(permuted among the genes that the space covers, {n} times; one-sided p = (1 + how many score as high) / {n + 1})"
        )
    for name, values, sd in zip(parts, every.values.T, every.sd, strict=False):
        low, high = number_text(values.min()), number_text(values.max())
        lines.append(f"{name} of the single cuts: {low} to {high}, SD {number_text(sd)}")
    lines.append(f"cut {numbers.protocol.seed}, which a saved run has: DE {_number(own.de)}, DIR {_number(own.dir)}")
    lines.append(f"over covered rows alone, {cuts.NAME}: DE {interval_text(some.de.shown)}, DIR {interval_text(some.dir.shown)}")
    return lines


def _lines_of_protocol(found: Evaluation, protocol: EvaluationProtocol) -> list[str]:
    lines = []
    three = (("DE", found.score.de, found.null.de), ("DIR", found.score.dir, found.null.dir))
    for name, score, null in three:
        lines.append(
            f"{name} {interval_text(score.shown)} {axes_text(score.shown)}; with no gene information it would be {null.value:.3f}"
        )
    some = found.covered
    lines.append(f"over covered rows alone: DE {interval_text(some.de.shown)}, DIR {interval_text(some.dir.shown)}")
    if protocol.kind == "loo":
        lines.append(
            "Leave-one-out is biased if all genes are about equally similar: read it beside its null, and base claims on folds."
        )
    return lines


def null_text(test: PermutationTest) -> str:
    """Return a null beside a score, "permuted vectors 0.512 ± 0.038, one-sided p = 0.07"."""
    return f"permuted vectors {number_text(test.mean)} ± {number_text(test.sd)}, one-sided p = {number_text(test.p, '.2g')}"


def knn_sentence(numbers: KnnNumbers) -> str:
    """Return one sentence on the scores of a kNN, with its null if known.

    The score without gene information checks the protocol; it is mentioned under leave-one-out, which is biased.
    """
    if numbers.cuts is not None:
        return f"neighbours alone: {space_sentence(numbers.cuts, numbers.null)}"
    score, null, protocol = numbers.score, numbers.evaluation.null, numbers.protocol
    loo = protocol.kind == "loo"
    where = "as leave-one-out" if loo else f"{UNSEEN} ({protocol.k}×{protocol.k} cells, cut {protocol.seed})"
    scores = ", ".join(
        f"{name} {_number(part)}" + (f" (with no gene information: {_number(empty)})" if loo else "")
        for name, part, empty in (("DE", score.de, null.de), ("DIR", score.dir, null.dir))
    )
    return f"neighbours alone: {scores} over {score.n_labelled:,} labelled rows, scored {where}"


def space_sentence(mean: MeanOfCuts, null: PermutationNull | None) -> str:
    """Return one sentence on the score of a space, with its null if known."""
    score = mean.all_rows.score
    parts = {"DE": score.de, "DIR": score.dir}
    tests = dict(zip(parts, null.test(means_of(mean.all_rows)), strict=False)) if null is not None else {}
    scores = ", ".join(
        f"{name} {_number(part)}" + (f" ({null_text(tests[name])})" if tests else "") for name, part in parts.items()
    )
    return f"{scores} over {score.n_labelled:,} labelled rows, scored {UNSEEN}: {cuts.NAME}, inside {mean.k}×{mean.k} cells"


def _number(value: Estimate) -> str:
    return number_text(value.value)
