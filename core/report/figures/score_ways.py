"""The AUROC of a run's rows scored in several ways, most of which cannot be raised by how often a gene was measured."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.plots import drawing, score_ways
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring.other_scores import METRICS, OtherScores, ways_to_score
from core.scoring.run_scores import RunRows
from core.scoring.sentences import TWO_WAY, interval_text, scored_text
from core.stats.delong import Estimate
from core.texts import NO_BIOLOGY, number_text


def of_run(rows: RunRows, found: OtherScores, counts: OtherScores, name: str) -> CaptionedFigure:
    """All ways to score one metric. found: of the run; counts: of row counts alone; name: DE or DIR."""
    pairs = list(zip(*(ways_to_score(one, METRICS[name]) for one in (found, counts)), strict=True))
    lines = [(way.name, way.counted, *_ends(way.estimate), way.estimate.n, count.estimate.value) for way, count in pairs]
    table = pd.DataFrame(lines, columns=list(score_ways.COLUMNS))
    caption = (
        f"{rows.run.name} · {name}, {scored_text(rows.scored)} · 95% intervals {TWO_WAY} · "
        f"◇ {NO_BIOLOGY}: how often genes were measured, scored in the same way"
    )
    way, count = pairs[1]
    sentence = (
        f"{rows.run.name}, {name} {way.name}: {interval_text(way.estimate.shown)} over {way.counted}; "
        f"the {NO_BIOLOGY} has {number_text(count.estimate.value)}."
    )
    chart = score_ways.figure(table, drawing.METRICS[name])
    return CaptionedFigure(f"{name} scored in other ways", rows.run.name, sentence, caption, chart, table)


def _ends(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.value, estimate.shown.low, estimate.shown.high


def _make(material: Material) -> Sequence[CaptionedFigure]:
    found = []
    for run in material.runs:
        if material.score(run.id).whole.n_labelled == 0:
            found.append(material.without_labels(run, "Other ways to score"))
        else:
            found += [of_run(material.rows[run.id], *material.other_scores(run.id), name) for name in METRICS]
    return found


FIGURE = FigureKind("score_ways", "Other ways to score", "AUROCs within genes, and where row counts cannot help.", 70, _make)
