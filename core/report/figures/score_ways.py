"""The AUROC of a run's rows scored in several ways, most of which cannot be raised by how often a gene was measured."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.plots import drawing, ladder, score_ways
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring.other_scores import METRICS, OtherScores, ways_to_score
from core.scoring.run_scores import RunRows
from core.scoring.sentences import TWO_WAY, interval_text, scored_text
from core.texts import NO_BIOLOGY, number_text


def of_run(rows: RunRows, found: OtherScores, counts: OtherScores, name: str) -> CaptionedFigure:
    """Return all ways to score one metric. found: of the run; counts: of row counts alone; name: DE or DIR."""
    pairs = list(zip(*(ways_to_score(one, METRICS[name]) for one in (found, counts)), strict=True))
    lines = [(way.name, way.counted, *way.estimate.shown.ends, way.estimate.n, count.estimate.value) for way, count in pairs]
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


def of_runs(runs: Sequence[RunRows], scores: Sequence[OtherScores], name: str) -> CaptionedFigure:
    """Return all ways to score one metric of two or more runs, each on its own rows. name: DE or DIR."""
    lines = [
        {"group": way.name, "run": rows.run.name, "kind": "here", "chosen": rows is runs[0], **ladder.numbers(way.estimate.shown)}
        for rows, found in zip(runs, scores, strict=True)
        for way in ways_to_score(found, METRICS[name])
    ]
    scored = pd.DataFrame(lines).dropna(subset="score")
    title, subject = f"{name} scored in other ways", f"{len(runs)} runs"
    if scored.empty:
        return CaptionedFigure(title, subject, "No pair of rows of both classes, so there is no score.")
    ways = list(dict.fromkeys(scored["group"]))
    table = scored.sort_values("group", key=lambda names: names.map(ways.index), kind="stable", ignore_index=True)
    way = ways[min(1, len(ways) - 1)]  # the first beside the score itself
    best = max((line for line in table.to_dict("records") if line["group"] == way), key=lambda line: line["score"])
    finding = f"{name} {way}: the highest is {best['run']}, {number_text(best['score'])}"
    caption = f"{subject} · {name}, each run on its own rows · 95% intervals {TWO_WAY}"
    return CaptionedFigure(title, subject, f"{finding}.", caption, ladder.grouped_figure(table, name), table)


def _make(material: Material) -> Sequence[CaptionedFigure]:
    runs = material.labelled_runs
    if len(runs) > 1:
        rows, scores = [material.rows[run.id] for run in runs], [material.other_scores(run.id)[0] for run in runs]
        found = [of_runs(rows, scores, name) for name in METRICS]
    else:
        found = [of_run(material.rows[run.id], *material.other_scores(run.id), name) for run in runs for name in METRICS]
    return [*found, *material.say_unlabelled("Other ways to score")]


FIGURE = FigureKind("score_ways", "Other ways to score", "AUROCs within genes, and without row counts.", 70, _make)
