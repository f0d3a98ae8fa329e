"""The rate of an answer to a rubric over a run's texts, by role: as the judge says, and corrected by labels."""

from __future__ import annotations

import pandas as pd

from core.audit.rubric import Rubric
from core.plots import rubric_rates as plot
from core.plots.forest_plot import ENDS
from core.report.captioned import CaptionedFigure
from core.scoring.rubric_rates import RoleRates, RubricRates
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
