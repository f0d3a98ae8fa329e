"""What arguments are worth on a run: rows where the answer to a rubric is yes against rows where it is no."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from core.plots import rubric_worth as plot
from core.report.captioned import CaptionedFigure
from core.scoring.rubric_words import conclusion
from core.scoring.rubric_worth import MEASURES, RubricWorth
from core.scoring.sentences import TWO_WAY, scored_text
from core.store.runs import Run
from core.texts import number_text

_TITLE = "What an argument is worth"


def of_run(run: Run, found: Sequence[RubricWorth], scored: str) -> CaptionedFigure:
    """Return the worth of rubrics on a run, all tested together. scored: how the run is scored, in words."""
    table = _table_of(found)
    sentence = conclusion(found[0]) if len(found) == 1 else _significance_text(table)
    caption = (
        f"{run.name} · rows with the answer in at least one text minus rows without · DE and DIR contribution: the share "
        f"of rows of the other class that a row is ranked correctly against, {scored_text(scored)} · 95% intervals "
        f"{TWO_WAY} · Holm over {int(table['p'].notna().sum())} tests · uncorrected answers of the judge, not proof of an effect"
    )
    return CaptionedFigure(_TITLE, run.name, sentence, caption, plot.figure(table), table)


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


def _significance_text(table: pd.DataFrame) -> str:
    left = table[table["p_holm"] < 0.05]
    if left.empty:
        least = table["p_holm"].min()
        smallest = "" if math.isnan(least) else f"; the smallest corrected p is {least:.3f}"
        return f"No difference remains after Holm's correction{smallest}."
    parts = zip(left["rubric"], left["measure"], left["estimate"], strict=True)
    words = ", ".join(f"{rubric}: {measure} {number_text(estimate, '+.3f')}" for rubric, measure, estimate in parts)
    return f"Remaining after Holm's correction: {words}."
