"""The AUROC of a run over all rows, and its unweighted means over genes and over perturbations."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.plots import drawing, ladder
from core.plots import macro_scores as plot
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring.other_scores import METRICS, OtherScores, macro_scores
from core.scoring.run_scores import RunRows
from core.scoring.sentences import TWO_WAY, interval_text, scored_text
from core.texts import NO_BIOLOGY, number_text

_TITLE = "mean over genes and over perturbations"


def of_run(rows: RunRows, found: OtherScores, counts: OtherScores, name: str) -> CaptionedFigure:
    """Return the means of one metric. found: of the run; counts: of row counts alone; name: DE or DIR."""
    pairs = list(zip(*(macro_scores(one, METRICS[name]) for one in (found, counts)), strict=True))
    lines = [(own.name, own.counted, *own.estimate.shown.ends, own.estimate.n, count.estimate.value) for own, count in pairs]
    table = pd.DataFrame(lines, columns=list(plot.COLUMNS))
    caption = (
        f"{rows.run.name} · {name}, {scored_text(rows.scored)} · 95% intervals {TWO_WAY} · "
        f"◇ {NO_BIOLOGY}: how often genes were measured"
    )
    of_genes, count = pairs[1]
    sentence = (
        f"{rows.run.name}, {name}, {of_genes.name}: {interval_text(of_genes.estimate.shown)} over {of_genes.counted}; "
        f"the {NO_BIOLOGY} has {number_text(count.estimate.value)}."
    )
    chart = plot.figure(table, drawing.METRICS[name])
    return CaptionedFigure(f"{name}: {_TITLE}", rows.run.name, sentence, caption, chart, table)


def of_runs(runs: Sequence[RunRows], scores: Sequence[OtherScores], name: str) -> CaptionedFigure:
    """Return the means of one metric of two or more runs, each on its own rows. name: DE or DIR."""
    lines = [
        {"group": own.name, "run": rows.run.name, "kind": "here", "chosen": rows is runs[0], **ladder.numbers(own.estimate.shown)}
        for rows, found in zip(runs, scores, strict=True)
        for own in macro_scores(found, METRICS[name])
    ]
    scored = pd.DataFrame(lines).dropna(subset="score")
    title, subject = f"{name}: {_TITLE}", f"{len(runs)} runs"
    if scored.empty:
        return CaptionedFigure(title, subject, "No pair of rows of both classes, so there is no score.")
    groups = list(dict.fromkeys(scored["group"]))
    table = scored.sort_values("group", key=lambda names: names.map(groups.index), kind="stable", ignore_index=True)
    group = groups[min(1, len(groups) - 1)]  # the first beside the score itself
    best = max((line for line in table.to_dict("records") if line["group"] == group), key=lambda line: line["score"])
    finding = f"{name}, {group}: the highest is {best['run']}, {number_text(best['score'])}"
    caption = f"{subject} · {name}, each run on its own rows · 95% intervals {TWO_WAY}"
    return CaptionedFigure(title, subject, f"{finding}.", caption, ladder.grouped_figure(table, name), table)


def _make(material: Material) -> Sequence[CaptionedFigure]:
    runs = material.labelled_runs
    if len(runs) > 1:
        rows, scores = [material.rows[run.id] for run in runs], [material.other_scores(run.id)[0] for run in runs]
        found = [of_runs(rows, scores, name) for name in METRICS]
    else:
        found = [of_run(material.rows[run.id], *material.other_scores(run.id), name) for run in runs for name in METRICS]
    return [*found, *material.say_unlabelled(f"AUROC: {_TITLE}")]


FIGURE = FigureKind("macro_scores", "Genes and perturbations", "Mean AUROCs over genes and perturbations.", 70, _make)
