"""The kinds of arguments of a run: names, sizes, and hit rates of their rows."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.audit.kind_settings import KindSettings
from core.plots import argument_kinds, forest_plot
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring.argument_kinds import Kind, RunKinds, describe_kinds, describe_masking, describe_stability, find_kinds
from core.scoring.sentences import axes_text

_TITLE = "Kinds of arguments"
_NAN = float("nan")
NO_RATE = "No row has both a label and a call, so there is no hit rate."


def of_run(found: RunKinds) -> CaptionedFigure:
    """Return the kinds of a run with their hit rates; the table has all of their words and a typical row each."""
    run = found.texts.run
    sentence = f"{describe_stability(found)} {describe_kinds(found)}"
    if found.hit is None:
        return CaptionedFigure(_TITLE, run.name, f"{sentence} {NO_RATE}")
    table = kinds_table(found)
    shown = found.hit.shown
    caption = (
        f"{run.name} · {found.n:,} {found.texts.name} · {found.hit.n:,} rows with a label · each counted once per kind · 95% "
        f"intervals, {axes_text(shown)} · {describe_masking()}"
    )
    return CaptionedFigure(_TITLE, run.name, sentence, caption, argument_kinds.figure(table, shown.estimate), table)


def of_runs(found: Sequence[RunKinds]) -> CaptionedFigure:
    """Return the kinds of two or more runs, each with its own, in one figure; the first run stands out."""
    table = pd.concat([kinds_table(each).assign(run=each.texts.run.name) for each in found], ignore_index=True)
    overall = {each.texts.run.name: _NAN if each.hit is None else each.hit.shown.estimate for each in found}
    counted = " · ".join(f"{each.texts.run.name}: {each.n:,} {each.texts.name}" for each in found)
    caption = (
        f"{counted} · rows with a label, each counted once per kind · kinds are found separately in each run · "
        f"95% intervals · {describe_masking()}"
    )
    sentence = " ".join(f"{each.texts.run.name}: {describe_stability(each)}" for each in found)
    shown = table[["run", *kinds_table(found[0]).columns]]
    return CaptionedFigure(_TITLE, f"{len(found)} runs", sentence, caption, argument_kinds.runs_figure(shown, overall), shown)


def kinds_table(found: RunKinds) -> pd.DataFrame:
    """Return one row for each kind: the columns of the figure, then example, the pair of its most typical text."""
    return pd.DataFrame([_line(kind, found.n) for kind in found.kinds])


def _line(kind: Kind, n: int) -> dict[str, object]:
    return {
        "kind": kind.name,
        "n": kind.n,
        "rows": 0 if kind.hit is None else kind.hit.n,
        "share": kind.n / n,
        **(dict.fromkeys(forest_plot.ENDS, _NAN) if kind.hit is None else kind.hit.shown.columns),
        "example": kind.typical[0].pair_id if kind.typical else None,
    }


def _make(material: Material) -> Sequence[CaptionedFigure]:
    """Return one figure of all runs whose kinds have hit rates, where these are several."""
    missing = [run for run in material.runs if run.id not in material.texts]
    found = [find_kinds(texts, KindSettings()) for texts in material.texts.values()]
    with_rates = [each for each in found if each.hit is not None]
    are_several = len(with_rates) > 1
    return [
        *([of_runs(with_rates)] if are_several else []),
        *(of_run(each) for each in found if not are_several or each.hit is None),
        *(CaptionedFigure(_TITLE, run.name, f"{run.name}: it writes no texts, so there are no arguments.") for run in missing),
    ]


FIGURE = FigureKind(
    "argument_kinds",
    "What do the arguments say?",
    "Kinds of arguments, and how often their rows are hits.",
    105,
    _make,
    by_default=False,
)
