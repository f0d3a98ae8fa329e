"""The paired differences of two runs in DE, DIR and their mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

from core.plots import paired_changes
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring.compare_runs import RunComparison, has_an_auroc
from core.scoring.comparison_words import comparison_sentences
from core.scoring.sentences import TWO_WAY, scored_text
from core.stats.comparison import Comparison, Difference
from core.store.runs import Run

_TITLE = "Paired changes"


def of_pair(found: RunComparison, baseline: Run, run: Run) -> CaptionedFigure:
    """Return a run less a baseline, with intervals by every unit of resampling."""
    result, subject = found.covered, f"{run.name} against {baseline.name}"
    sentence = comparison_sentences(found, baseline.name, run.name)[0]
    if not has_an_auroc(result):
        return CaptionedFigure(_TITLE, subject, f"{run.name} and {baseline.name}: {sentence}")
    table = paired_changes.table(result).dropna(subset="estimate")
    caption = (
        f"{run.name} minus {baseline.name} · {result.n_labelled:,} labelled rows of both, {scored_text(found.scored)} · "
        f"{found.headline_name} · paired 95% intervals · "
        f"P(better) {_decisive(result).p_gt_0:.2f} {TWO_WAY} · shaded: changes of the mean too small to detect with 80% power"
    )
    chart, finding = paired_changes.figure(table, result.mean.detectable), verdict_title(found, baseline.name, run.name)
    return CaptionedFigure(_TITLE, subject, sentence, caption, chart, table, finding)


def verdict_title(found: RunComparison, a: str, b: str) -> str:
    """Return the verdict about run `b` against run `a` without its numbers, and on how many rows."""
    verdict, n = comparison_sentences(found, a, b)[0], found.covered.n_labelled
    said = verdict.rpartition(": ")[0].removesuffix(" on these rows") if n else ""
    return f"{said} on {n:,} labelled rows" if said else verdict.removesuffix(".")


def _decisive(result: Comparison) -> Difference:
    """Return the difference that the comparison is judged by: of the mean, or of the one question that both runs answer."""
    return next(part for part in (result.mean, result.de, result.dir) if not math.isnan(part.change.value))


def _make(material: Material) -> Sequence[CaptionedFigure]:
    found = [of_pair(material.comparison(a.id, b.id), a, b) for a, b in material.comparisons]
    return found or [CaptionedFigure(_TITLE, "", "No two runs were chosen for comparison.")]


FIGURE = FigureKind("paired_changes", "Is one run better?", "Paired differences of the chosen pairs of runs.", 110, _make)
