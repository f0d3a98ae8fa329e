"""The score of each slice of a run's rows, the costliest first; of several runs in one figure."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.plots import ladder
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.report.results import captioned
from core.scoring.run_scores import RunRows
from core.scoring.sentences import TWO_WAY
from core.scoring.slices import GENE_ROWS_KIND, INTERVALS, SHOWN, SlicesResult
from core.texts import estimate_text


def of_runs(runs: Sequence[RunRows], by: str, metric: str) -> CaptionedFigure:
    """Return one kind of slice for two or more runs, each scored on its own rows of a slice; the slices in order of size."""
    results = [SlicesResult.of(rows, by, metric) for rows in runs]
    frames = [each.frame().assign(run=each.run, chosen=each is results[0]) for each in results]
    scored = pd.concat(frames).dropna(subset="estimate").rename(columns={"estimate": "score"})
    title, subject = results[0].title, f"{len(runs)} runs"
    if scored.empty:
        return CaptionedFigure(title, subject, results[0].sentence)
    sizes = scored.groupby("slice")["n"].sum().sort_values(ascending=False)
    largest = scored[scored["slice"].isin(sizes.index[:SHOWN])].assign(kind="here")
    table = largest.sort_values("slice", key=lambda names: -names.map(sizes), kind="stable", ignore_index=True)
    worst = table.to_dict("records")[int(table["score"].to_numpy().argmin())]
    finding = f"The lowest {metric} is that of {worst['run']} in the slice “{worst['slice']}”"
    score = estimate_text(worst["score"], worst["low"], worst["high"])
    caption = (
        f"{subject} · {metric} inside each slice of a run’s own rows · the {min(SHOWN, len(sizes))} largest slices · "
        f"interval {INTERVALS.get(by, TWO_WAY)}"
    )
    chart = ladder.grouped_figure(table.assign(group=table["slice"]), metric)
    sentence = f"{finding}: {score} on {worst['n_labelled']:,} labelled rows."
    return CaptionedFigure(title, subject, sentence, caption, chart, table, finding)


def _make(material: Material) -> Sequence[CaptionedFigure]:
    runs = [run.id for run in material.labelled_runs]
    if len(runs) > 1:
        return [of_runs([material.rows[run] for run in runs], GENE_ROWS_KIND, "mean"), *material.say_unlabelled("Slices")]
    scored = [(material.rows[run], GENE_ROWS_KIND, "mean", material.score(run), material.count_score(run)) for run in runs]
    figures = [captioned(SlicesResult.of(*each), each[0].run.name) for each in scored]
    return [*figures, *material.say_unlabelled("Slices")]


FIGURE = FigureKind("slices", "Where the score comes from", "The score by how often genes were measured, by cost.", 50, _make)
