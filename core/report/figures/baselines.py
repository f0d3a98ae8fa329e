"""The baselines without biology, scored on the rows of a run and as the run is."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import pandas as pd

from core.plots import ladder
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.figures.ladder import describe_rows
from core.report.material import Material
from core.report.results import captioned
from core.scoring.sentences import TWO_WAY, interval_text
from core.store.runs import Run

_AXES: tuple[tuple[str, Literal["de", "dir"]], ...] = (("DE", "de"), ("DIR", "dir"))


def of_runs(material: Material, runs: Sequence[Run], name: str, axis: Literal["de", "dir"]) -> CaptionedFigure:
    """Return two or more runs in groups that share their rows, each group with the control that its runs are judged by."""
    groups: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        groups[material.standing(run.id).rows, material.score(run.id).whole.scored].append(run)
    lines = [line for group in groups.values() for line in _lines_of_group(material, group, axis)]
    table = pd.DataFrame(lines, columns=["group", *ladder.COLUMNS])
    title, subject = f"{name} beside the baselines without biology", f"{len(runs)} runs"
    verdicts = {run.name: getattr(material.standing(run.id).verdicts, axis) for run in runs}
    changes = ", ".join(f"{run} {interval_text(verdict.change, signed=True)}" for run, verdict in verdicts.items())
    sentence = f"Above or below the baselines without biology in the AUROC of {name}: {changes}."
    beating = [run for run, verdict in verdicts.items() if verdict.beats]
    finding = (
        f"{len(beating) or 'None'} of {len(runs)} runs beat{'s' * (len(beating) < 2)} the baselines without biology on {name}"
    )
    if table.empty:
        return CaptionedFigure(title, subject, sentence)
    caption = (
        f"{subject} · AUROC of {name} of the rows that each group names · 95% intervals {TWO_WAY} · squares: without biology"
    )
    return CaptionedFigure(title, subject, sentence, caption, ladder.grouped_figure(table, name), table, finding)


def _lines_of_group(material: Material, group: Sequence[Run], axis: Literal["de", "dir"]) -> list[dict[str, object]]:
    """Return the lines of `ladder.grouped_figure` for runs on the same rows: each run, and their control."""
    first = material.standing(group[0].id)
    judge = getattr(first.verdicts, axis).control
    rivals = [each for each in material.controls(group[0].id).controls if each.name == judge]
    own = [(run.name, "here", getattr(material.controls(run.id).own, axis), run is material.runs[0]) for run in group]
    known = [*own, *((each.name, "baseline", getattr(each, axis), False) for each in rivals)]
    return [
        {"group": describe_rows(first), "run": name, "kind": kind, "chosen": chosen, **ladder.numbers(value)}
        for name, kind, value, chosen in known
        if value is not None and not math.isnan(value.estimate)
    ]


def _make(material: Material) -> Sequence[CaptionedFigure]:
    runs = material.labelled_runs
    if len(runs) > 1:
        found = [of_runs(material, runs, name, axis) for name, axis in _AXES]
    else:
        of_axes = [(run, replace(material.controls(run.id), axis=axis)) for run in runs for _, axis in _AXES]
        found = [captioned(controls, run.name) for run, controls in of_axes]
    return [*found, *material.say_unlabelled("the baselines without biology")]


FIGURE = FigureKind("baselines", "Baselines without biology", "Each run beside the baselines without biology.", 40, _make)
