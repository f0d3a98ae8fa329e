"""The AUROC of runs over all rows, and its unweighted means over genes and over perturbations."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.plots import ladder
from core.report.captioned import CaptionedFigure, of_each_run, subject_of
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring.other_scores import METRICS, OtherScores
from core.scoring.run_scores import RunRows
from core.scoring.sentences import TWO_WAY, scored_text
from core.texts import NO_BIOLOGY, estimate_text

_TITLE = "mean over genes and over perturbations"


def of_runs(runs: Sequence[RunRows], scores: Sequence[tuple[OtherScores, OtherScores]], name: str) -> CaptionedFigure:
    """Return the means of one metric of runs, each on its own rows, beside row counts alone on the rows of the first.

    scores: of each run, and of row counts alone on its rows. name: DE or DIR.
    """
    names = [rows.run.name for rows in runs]
    title, subject = f"{name}: {_TITLE}", subject_of(names)
    lines = [
        *(
            line
            for rows, (found, _) in zip(runs, scores, strict=True)
            for line in _lines(rows.run.name, "here", rows is runs[0], found, name)
        ),
        *_lines(NO_BIOLOGY, "baseline", False, scores[0][1], name),
    ]
    scored = pd.DataFrame(lines).dropna(subset="score")
    if not (scored["kind"] == "here").any():
        return CaptionedFigure(title, subject, "No pair of rows of both classes, so there is no score.")
    groups = list(dict.fromkeys(scored["group"]))
    table = scored.sort_values("group", key=lambda found: found.map(groups.index), kind="stable", ignore_index=True)
    shown = groups[min(1, len(groups) - 1)]  # the first beside the score itself
    said = ", ".join(
        f"{line['run']} {estimate_text(line['score'], line['low'], line['high'])} ({line['counted']})"
        for line in table[table["group"] == shown].to_dict("records")
    )
    facts = of_each_run(names, [scored_text(rows.scored) for rows in runs])
    caption = f"{facts} · {name} · 95% intervals {TWO_WAY} · squares: how often genes were measured, on the rows of {names[0]}"
    return CaptionedFigure(title, subject, f"{name}, {shown}: {said}.", caption, ladder.grouped_figure(table, name), table)


def _lines(run: str, kind: str, chosen: bool, scores: OtherScores, name: str) -> list[dict[str, object]]:
    """Return a line for each mean, as `ladder.grouped_figure` draws it. counted: what the mean is over."""
    about = {"run": run, "kind": kind, "chosen": chosen}
    return [
        {"group": mean["over"], **about, "counted": mean["counted"], **ladder.numbers(mean["AUROC"].shown)}
        for mean in scores.means(name)
    ]


def _make(material: Material) -> Sequence[CaptionedFigure]:
    runs = material.labelled_runs
    rows, scores = [material.rows[run.id] for run in runs], [material.other_scores(run.id) for run in runs]
    found = [of_runs(rows, scores, name) for name in METRICS if runs]
    return [*found, *material.say_unlabelled(f"AUROC: {_TITLE}")]


FIGURE = FigureKind("macro_scores", "Genes and perturbations", "Mean AUROCs over genes and perturbations.", 70, _make)
