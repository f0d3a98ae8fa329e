"""The AUROC of each gene, or perturbation, of a run: raw and partially pooled, beside each other."""

from __future__ import annotations

from collections.abc import Sequence

from core.plots import drawing, pooled_aurocs
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring.group_scores import GroupScores, group_sentences, score_groups
from core.scoring.sentences import scored_text
from core.stats.within_axis import Axis
from core.texts import number_text

_UNITS: dict[Axis, str] = {"gene": "target genes", "pert": "perturbations"}


def of_scores(run: str, found: GroupScores) -> CaptionedFigure:
    """Return one axis and metric of a run of this name."""
    metric, unit = found.metric.upper(), _UNITS[found.axis]
    title = f"{metric} inside each of the {unit}"
    sentence = " ".join(group_sentences(found))
    if found.table.empty:
        return CaptionedFigure(title, run, sentence)
    caption = (
        f"{run} · {metric} of {len(found.table):,} {unit}, {scored_text(found.scored)} · partially pooled with 95% intervals: "
        "moved towards the mean in proportion to the chance scatter of so few rows"
    )
    chart = pooled_aurocs.figure(found.table, found.pooled.mean, drawing.METRICS[metric], unit)
    finding = f"{metric} differs between {unit} by SD {number_text(found.pooled.spread)}, beyond chance"
    return CaptionedFigure(title, run, sentence, caption, chart, found.table, finding)


def _make(material: Material) -> Sequence[CaptionedFigure]:
    found = [
        of_scores(run.name, score_groups(material.rows[run.id], axis, metric))
        for run in material.labelled_runs
        for axis in _UNITS
        for metric in ("de", "dir")
    ]
    return [*found, *material.say_unlabelled("AUROCs of genes and perturbations")]


FIGURE = FigureKind(
    "group_scores", "Genes and perturbations", "AUROCs of each, raw and partially pooled.", 72, _make, by_default=False
)
