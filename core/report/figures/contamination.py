"""How much of a run is memory of gene names: the loss of its score with names coded, swapped, hidden, or alone."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.experiments.contamination import TITLES, Contamination
from core.experiments.contamination_words import LIMITS, method_sentence, unknown_lines, verdict_sentence
from core.plots import contamination as plot
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.store.runs import Run

_TITLE = "Memory or reasoning"


def of_run(found: Contamination) -> CaptionedFigure:
    """Return the arms of one experiment against the original run."""
    table = table_of(found)
    verdict = verdict_sentence(found)
    sentence, caption = " ".join((verdict, LIMITS)), method_sentence(found)
    return CaptionedFigure(_TITLE, found.spec.name, sentence, caption, plot.figure(table), table, verdict)


def table_of(found: Contamination) -> pd.DataFrame:
    """Return one row for each arm: the columns of the figure."""
    lines = [
        {
            "name": TITLES[each.arm],
            "score": each.mean.b.value,
            **each.mean.change.shown.columns,
            "n": each.found.covered.n_labelled,
            "p_holm": each.p_holm,
            "falls": each.falls,
        }
        for each in found.arms
    ]
    return pd.DataFrame(lines, columns=list(plot.COLUMNS))


def _make(material: Material) -> Sequence[CaptionedFigure]:
    return [figure for run in material.runs for figure in _of(material, run)]


def _of(material: Material, run: Run) -> list[CaptionedFigure]:
    """Return the figures of a run; without any, why they are impossible or that no experiment was run."""
    found = [of_run(each) for each in material.contaminations.get(run.id, ())]
    if found:
        return found
    unknown = unknown_lines(run) or [f"{run.name}: not asked with other names yet (perturbdesk contamination)."]
    return [CaptionedFigure(_TITLE, run.name, " ".join(unknown))]


FIGURE = FigureKind(
    "contamination",
    "Is it memory or reasoning?",
    "The loss of a run's score with gene names coded, swapped, hidden, or shown without a dossier.",
    104,
    _make,
    by_default=False,
)
