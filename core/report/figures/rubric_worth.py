"""What arguments are worth on a run: rows where the answer to a rubric is yes against rows where it is no."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from core.plots import rubric_worth as plot
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.figures.rubric_rates import nothing_asked
from core.report.material import Material
from core.scoring.rubric_words import conclusion
from core.scoring.rubric_worth import MEASURES, RubricWorth, rubric_worth
from core.scoring.sentences import TWO_WAY, scored_text
from core.store.runs import Run
from core.texts import number_text

_TITLE = "What an argument is worth"


def of_run(run: Run, found: Sequence[RubricWorth], scored: str) -> CaptionedFigure:
    """Return the worth of rubrics on a run, all tested together. scored: how the run is scored, in words."""
    table = _table_of(found)
    sentence = conclusion(found[0]) if len(found) == 1 else _significance_text(table)
    caption = _caption(run.name, scored_text(scored), f"Holm over {int(table['p'].notna().sum())} tests")
    return CaptionedFigure(_TITLE, run.name, sentence, caption, plot.figure(table), table)


def of_runs(found: Mapping[str, tuple[Sequence[RubricWorth], str]]) -> CaptionedFigure:
    """Return the figure of two or more runs, by their names, each with how it is scored. The first run is highlighted."""
    tables = {run: _table_of(worth) for run, (worth, _) in found.items()}
    table = pd.concat([each.assign(run=run) for run, each in tables.items()], ignore_index=True)
    table = table[["run", *tables[next(iter(tables))].columns]]
    scored = "; ".join(dict.fromkeys(scored_text(how) for _, how in found.values()))
    caption = _caption(f"{len(found)} runs", scored, "Holm over the tests of each run")
    sentence = " ".join(f"{run}: {_significance_text(each)}" for run, each in tables.items())
    return CaptionedFigure(_TITLE, f"{len(found)} runs", sentence, caption, plot.runs_figure(table), table)


def _table_of(found: Sequence[RubricWorth]) -> pd.DataFrame:
    """Return one row for each rubric and measure: the columns of the figure, and p."""
    lines = [
        {
            "rubric": worth.rubric,
            "measure": words,
            "n_yes": worth.n_yes,
            "n_no": worth.n_no,
            **worth.measures[key].change.shown.columns,
            "p": worth.p[key].p,
            "p_holm": worth.p[key].holm,
        }
        for worth in found
        for key, words in MEASURES.items()
    ]
    return pd.DataFrame(lines)


def _caption(whose: str, scored: str, corrected: str) -> str:
    return (
        f"{whose} · rows with the answer in at least one text minus rows without · DE and DIR contribution: the share of rows "
        f"of the other class that a row is ranked correctly against, {scored} · 95% "
        f"intervals {TWO_WAY} · {corrected} · uncorrected answers of the judge, not proof of an effect"
    )


def _significance_text(table: pd.DataFrame) -> str:
    left = table[table["p_holm"] < 0.05]
    if left.empty:
        least = table["p_holm"].min()
        smallest = "" if math.isnan(least) else f"; the smallest corrected p is {least:.3f}"
        return f"No difference remains after Holm's correction{smallest}."
    parts = zip(left["rubric"], left["measure"], left["estimate"], strict=True)
    words = ", ".join(f"{rubric}: {measure} {number_text(estimate, '+.3f')}" for rubric, measure, estimate in parts)
    return f"Remaining after Holm's correction: {words}."


def _make(material: Material) -> list[CaptionedFigure]:
    """Return one figure of all runs that have rubrics answered and labels, where these are several."""
    found = [(run, _worth_of(material, run), material.rows[run.id].scored) for run in material.runs]
    drawn = [(run, worth, scored) for run, worth, scored in found if not isinstance(worth, CaptionedFigure)]
    without = [worth for _, worth, _ in found if isinstance(worth, CaptionedFigure)]
    if len(drawn) > 1:
        return [of_runs({run.name: (worth, scored) for run, worth, scored in drawn}), *without]
    return [*(of_run(run, worth, scored) for run, worth, scored in drawn), *without]


def _worth_of(material: Material, run: Run) -> list[RubricWorth] | CaptionedFigure:
    """Return the worth of a run's answered rubrics, tested together; a figure with the reason if there are none."""
    rows = material.rows[run.id]
    found = [(asked.rubric, material.answers(run, asked.rubric)) for asked in material.rubrics.get(run.id, ())]
    answered = [(rubric, answers[0]) for rubric, answers in found if answers is not None]
    if not answered:
        return nothing_asked(run, _TITLE)
    if not rows.arrays.outcome.labelled.any():
        return material.without_labels(run, _TITLE)
    return rubric_worth(rows, material.outcomes[run.id], answered)


FIGURE = FigureKind(
    "rubric_worth",
    "What is an argument worth?",
    "Rows with the answer yes to a rubric against rows with no: hits, and contributions to DE and DIR.",
    102,
    _make,
    by_default=False,
)
