"""The rate of an answer to a rubric over a run's texts, by role: as the judge says, and corrected by labels."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from core.audit.rubric import Rubric
from core.plots import rubric_rates as plot
from core.plots.forest_plot import ENDS
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import AskedRubric, Material
from core.scoring.rubric_rates import RoleRates, RubricRates, join_answers, rubric_rates
from core.scoring.rubric_words import missing_text
from core.scoring.sentences import TWO_WAY
from core.stats.intervals import Interval
from core.store.runs import Run
from core.texts import estimate_text

TITLE = "Rates of an answer"


def of_run(run: Run, rubric: Rubric, found: RubricRates, judge: str) -> CaptionedFigure:
    """Return a rubric's rates by role. judge: what made the readings, in words."""
    table = pd.DataFrame([line for role, rates in found.roles.items() for line in _lines(role, rates)])
    whole = found.whole
    n_labels = f"{whole.labels:,} texts labelled by people"
    caption = (
        f"{run.name} · {whole.n:,} texts, read by {judge}; {n_labels} · 95% intervals {TWO_WAY}; that of the judge as read "
        "ignores the judge's errors"
    )
    sentence = f"{rubric.question} {_rates_sentence(found.answer, whole)}"
    return CaptionedFigure(TITLE, run.name, sentence, caption, plot.figure(table, found.answer), table)


def _lines(role: str, rates: RoleRates) -> list[dict[str, object]]:
    kinds: list[tuple[str, int, Interval | None]] = [
        ("raw", rates.n - rates.unread, rates.raw),
        ("corrected", rates.labels, rates.corrected),
    ]
    unknown = dict.fromkeys(ENDS, float("nan"))
    return [{"role": role, "kind": kind, "n": n, **(rate.columns if rate else unknown)} for kind, n, rate in kinds]


def _rates_sentence(answer: str, rates: RoleRates) -> str:
    n_read = rates.n - rates.unread
    share = f", {rates.raw.estimate:.1%}" if n_read else ""
    raw = f"The judge answers “{answer}” in {rates.yes:,} of {n_read:,} texts{share}"
    if rates.corrected is None:
        return f"{raw}; {missing_text(rates)}."
    return f"{raw}; corrected by {rates.labels:,} labels it is {_percent(rates.corrected)}."


def _percent(rate: Interval) -> str:
    return estimate_text(*rate.ends, ".1%")


def nothing_asked(run: Run, title: str) -> CaptionedFigure:
    """Return the replacement for the figure of a run without rubrics."""
    return CaptionedFigure(title, run.name, f"{run.name}: no custom rubric and no labelled text.")


def of_runs(rubric: Rubric, found: Mapping[str, RubricRates]) -> CaptionedFigure:
    """Return a rubric's rates in two or more runs, by their names. The first run is highlighted.

    Rates are corrected where people labelled enough, else as read.
    """
    lines = [
        {"run": run, **line}
        for run, rates in found.items()
        for role, of_role in rates.roles.items()
        for line in _lines(role, of_role)
        if line["kind"] == ("raw" if of_role.corrected is None else "corrected")
    ]
    table = pd.DataFrame(lines)
    roles = list(dict.fromkeys(table["role"]))
    table = table.sort_values("role", key=lambda names: names.map(roles.index), kind="stable", ignore_index=True)
    whole = {run: rates.whole for run, rates in found.items()}
    said = "; ".join(f"{run}: {_shown_rate(rates)}" for run, rates in whole.items())
    answer = rubric.answers[0]
    caption = f"{len(found)} runs · {sum(rates.n for rates in whole.values()):,} texts · 95% intervals {TWO_WAY}"
    sentence = f"{rubric.question} “{answer}” in {said}."
    return CaptionedFigure(TITLE, f"{len(found)} runs", sentence, caption, plot.runs_figure(table, answer), table)


def _shown_rate(rates: RoleRates) -> str:
    return _percent(rates.raw if rates.corrected is None else rates.corrected)


def _make(material: Material) -> list[CaptionedFigure]:
    """Return a figure for each rubric: of all the runs that it was read in, where these are several."""
    made: list[CaptionedFigure] = []
    several: dict[Rubric, dict[str, RubricRates]] = {}
    alone: dict[Rubric, CaptionedFigure] = {}
    for run in material.runs:
        if not material.rubrics.get(run.id):
            made.append(nothing_asked(run, TITLE))
        for asked in material.rubrics.get(run.id, ()):
            figure, rates = _rates_of(material, run, asked)
            if rates is None:
                made.append(figure)
                continue
            several.setdefault(asked.rubric, {})[run.name] = rates
            alone[asked.rubric] = figure
    drawn = [of_runs(rubric, found) if len(found) > 1 else alone[rubric] for rubric, found in several.items()]
    return [*drawn, *made]


def _rates_of(material: Material, run: Run, asked: AskedRubric) -> tuple[CaptionedFigure, RubricRates | None]:
    """Return a run's figure of a rubric, and its rates; None where none can be drawn."""
    answered, rubric = material.answers(run, asked.rubric), asked.rubric
    if answered is None:
        sentence = f"{rubric.question} No model has read {run.name} for it; people labelled {len(asked.labels):,} of its texts."
        return CaptionedFigure(TITLE, run.name, sentence), None
    readings, judge = answered
    found = rubric_rates(join_answers(asked.texts, readings, asked.labels, asked.samples, rubric), rubric.answers[0])
    if found.whole.says_nothing:
        return CaptionedFigure(TITLE, run.name, f"{rubric.question} No text of {run.name} could be read ({judge})."), None
    return of_run(run, rubric, found, judge), found


FIGURE = FigureKind(
    "rubric_rates",
    "What do all texts say?",
    "Rates of the answers to rubrics: the judge's, and corrected by people's labels.",
    101,
    _make,
    by_default=False,
)
