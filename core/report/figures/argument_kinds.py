"""The kinds of arguments of a run: what they are called by, how large they are, and how often their rows are hits."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.audit.kind_settings import KindSettings
from core.plots import argument_kinds
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring.argument_kinds import Kind, RunKinds, describe_kinds, describe_masking, describe_stability, find_kinds
from core.scoring.sentences import axes_text

_TITLE = "Kinds of arguments"


def of_run(found: RunKinds) -> CaptionedFigure:
    """The kinds of a run with their hit rates; the table has all of their words and a typical row each."""
    run = found.texts.run
    sentence = f"{describe_stability(found)} {describe_kinds(found)}"
    if found.hit is None:
        return CaptionedFigure(_TITLE, run.name, f"{sentence} No row has both a label and a call, so there is no hit rate.")
    table = kinds_table(found)
    shown = found.hit.shown
    caption = (
        f"{run.name} · {found.n:,} {found.texts.name} · {found.hit.n:,} rows with a label · each counted once in every "
        f"kind of its texts · 95% intervals, {axes_text(shown)} · {describe_masking()}"
    )
    return CaptionedFigure(_TITLE, run.name, sentence, caption, argument_kinds.figure(table, shown.estimate), table)


def kinds_table(found: RunKinds) -> pd.DataFrame:
    """One row for each kind: the columns of the figure, then example, the pair of its most typical text."""
    return pd.DataFrame([_line(kind, found.n) for kind in found.kinds])


def _line(kind: Kind, n: int) -> dict[str, object]:
    nan = float("nan")
    shown = None if kind.hit is None else kind.hit.shown
    return {
        "kind": kind.name,
        "n": kind.n,
        "rows": 0 if kind.hit is None else kind.hit.n,
        "share": kind.n / n,
        "estimate": nan if shown is None else shown.estimate,
        "low": nan if shown is None else shown.low,
        "high": nan if shown is None else shown.high,
        "example": kind.typical[0].pair_id if kind.typical else None,
    }


def _make(material: Material) -> Sequence[CaptionedFigure]:
    missing = [run for run in material.runs if run.id not in material.texts]
    return [
        *(of_run(find_kinds(texts, KindSettings())) for texts in material.texts.values()),
        *(CaptionedFigure(_TITLE, run.name, f"{run.name}: its traces hold no texts, so no arguments.") for run in missing),
    ]


FIGURE = FigureKind(
    "argument_kinds",
    "What do the arguments say?",
    "Kinds of arguments, and how often their rows are hits.",
    105,
    _make,
    by_default=False,
)
