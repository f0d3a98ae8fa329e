"""Where each run's score lies between no biology and a replicate of the screen, where a replicate is named."""

from __future__ import annotations

from collections.abc import Sequence

from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring.score_scale import scale_sentences
from core.store.runs import Run

TITLE = "Between no biology and a replicate"
_NONE = "no replicate of the screen is named (perturbdesk report new --replicate DATASET)."


def _of_run(material: Material, run: Run) -> CaptionedFigure:
    found = material.scales.get(run.id, _NONE)
    if isinstance(found, str):
        return CaptionedFigure(TITLE, run.name, f"{run.name}: {found.removesuffix('.')}.")
    said = "; ".join(" ".join(line.split()) for line in scale_sentences(found)[1:])
    first = scale_sentences(found)[0]
    return CaptionedFigure(TITLE, run.name, f"{run.name}, {first} {said}.")


def _make(material: Material) -> Sequence[CaptionedFigure]:
    return [*(_of_run(material, run) for run in material.labelled_runs), *material.say_unlabelled(TITLE)]


FIGURE = FigureKind("replicate_scale", TITLE, "Scores on the scale to a replicate that is named.", 24, _make, by_default=False)
