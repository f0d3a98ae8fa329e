"""The baselines without biology, scored on the rows of a run and as the run is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from core.features.sharing.report.figure_kind import FigureKind
from core.features.sharing.report.material import Material
from core.plots.captioned import CaptionedFigure
from core.plots.results import captioned_runs
from core.scoring.controls import RunControls

_AXES: tuple[Literal["de", "dir"], ...] = ("de", "dir")


def _of_runs(results: Sequence[RunControls], axis: Literal["de", "dir"]) -> CaptionedFigure:
    """Return runs beside the baselines; of several runs, each beside the baseline that it is judged
    by."""
    of_axis = [replace(each, axis=axis) for each in results]
    if len(results) > 1:
        judges = [getattr(each.verdicts, axis).control for each in results]
        of_axis = [
            replace(
                each, controls=tuple(control for control in each.controls if control.name == judge)
            )
            for each, judge in zip(of_axis, judges, strict=True)
        ]
    made = captioned_runs([(each.run.name, each) for each in of_axis], by="run")
    if len(results) == 1:
        return made
    beating = sum(bool(getattr(each.verdicts, axis).beats) for each in results)
    verb = "beats" if beating < 2 else "beat"
    finding = (
        f"{beating or 'None'} of {len(results)} runs {verb} the baselines without biology on"
        f" {axis.upper()}"
    )
    return replace(
        made,
        sentence=" ".join(f"{each.run.name}: {each.sentence}" for each in of_axis),
        finding=finding,
    )


def _make(material: Material) -> Sequence[CaptionedFigure]:
    results = [material.controls(run.id) for run in material.labelled_runs]
    figures = [_of_runs(results, axis) for axis in _AXES if results]
    return [*figures, *material.say_unlabelled("the baselines without biology")]


FIGURE = FigureKind(
    "baselines",
    "Baselines without biology",
    "Each run beside the baselines without biology.",
    40,
    _make,
)
