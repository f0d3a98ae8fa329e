"""Where each run's score lies between no biology and a replicate of the screen, where a replicate is named."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.plots import score_scale as plot
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring.score_scale import RunScale, scale_sentences
from core.stats.official_score import RESAMPLES
from core.texts import number_text

TITLE = "Between no biology and a replicate"
_NONE = "No replicate of the screen is chosen (perturbdesk report new --replicate DATASET)."


def _make(material: Material) -> Sequence[CaptionedFigure]:
    names = {run.id: run.name for run in material.labelled_runs}
    scales = {names[key]: scale for key, scale in material.scales.items() if isinstance(scale, RunScale)}
    failed = [
        CaptionedFigure(TITLE, names[key], f"{names[key]}: {why.removesuffix('.')}.")
        for key, why in material.scales.items()
        if isinstance(why, str)
    ]
    unnamed = [CaptionedFigure(TITLE, name, f"{name}: {_NONE}") for key, name in names.items() if key not in material.scales]
    drawn = [_of_runs(scales)] if scales else []
    return [*drawn, *failed, *unnamed, *material.say_unlabelled(TITLE)]


def _of_runs(scales: dict[str, RunScale]) -> CaptionedFigure:
    """Return one figure of all runs, the first of which stands out. scales: by the run's name."""
    first = next(iter(scales))
    lines = [
        (f"{run} · {name}", part.value, part.low, part.high, part.score, part.floor, part.ceiling, found.n, run == first)
        for run, found in scales.items()
        for name, part in (("DE", found.de), ("DIR", found.dir))
    ]
    table = pd.DataFrame(lines, columns=list(plot.COLUMNS))
    said = " ".join(f"{run}, {_in_a_sentence(found)}." for run, found in scales.items())
    caption = (
        f"{', '.join(scales)} · replicate {scales[first].replicate} · (score − no biology) / (replicate − no biology), AUROCs on "
        f"the rows that both have · 95% intervals by {RESAMPLES} bootstraps of perturbations"
    )
    de, direction = (number_text(part.value, ".2f") for part in (scales[first].de, scales[first].dir))
    finding = f"{first}: DE {de} and DIR {direction} of the way from no biology to replicate {scales[first].replicate}"
    return CaptionedFigure(TITLE, first, said, caption, plot.figure(table), table, finding)


def _in_a_sentence(found: RunScale) -> str:
    head, *rest = (" ".join(line.split()) for line in scale_sentences(found))
    return f"{head} {'; '.join(rest)}"


FIGURE = FigureKind("replicate_scale", TITLE, "Scores on the scale to a chosen replicate.", 24, _make, by_default=False)
