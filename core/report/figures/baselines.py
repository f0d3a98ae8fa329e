"""What knows no biology, scored on the rows of a run and as the run is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pandas as pd

from core.plots import control_scores
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring.controls import RunControls
from core.scoring.sentences import TWO_WAY, scored_text, verdict_sentence
from core.store.runs import Run

_AXES: tuple[tuple[str, Literal["de", "dir"]], ...] = (("DE", "de"), ("DIR", "dir"))


def caption_of(run: Run, n: int, found: RunControls) -> str:
    """What the numbers of all controls are of."""
    return (
        f"{run.name} · {n:,} rows · {found.unit}, {scored_text(found.scored)} · 95% intervals {TWO_WAY}; of permuted "
        "labels and vectors the range of 95% of the permutations"
    )


def of_axis(run: Run, n: int, found: RunControls, name: str, axis: Literal["de", "dir"]) -> CaptionedFigure:
    """The run and every control that says something on an axis; name: DE or DIR; n: rows of the run."""
    lines = [(each, getattr(each, axis)) for each in (found.own, *found.controls)]
    table = pd.DataFrame(
        [
            (each.name, each.about, value.estimate, value.low, value.high, value.n, each is found.own)
            for each, value in lines
            if value is not None
        ],
        columns=list(control_scores.COLUMNS),
    )
    title, sentence = f"{name} beside what knows no biology", f"{verdict_sentence(name, getattr(found.verdicts, axis))}."
    if table.empty or not table["own"].any():
        return CaptionedFigure(title, run.name, f"{run.name}: {sentence}")
    chart = control_scores.figure(table, f"{found.unit}, {name}")
    return CaptionedFigure(title, run.name, sentence, caption_of(run, n, found), chart, table)


def _make(material: Material) -> Sequence[CaptionedFigure]:
    found = []
    for run in material.runs:
        if material.score(run.id).whole.n_labelled == 0:
            found.append(material.without_labels(run, "What knows no biology"))
            continue
        rows, controls = material.rows[run.id], material.controls(run.id)
        found += [of_axis(run, len(rows), controls, name, axis) for name, axis in _AXES]
    return found


FIGURE = FigureKind("baselines", "Baselines without biology", "Each run beside what knows no biology.", 40, _make)
