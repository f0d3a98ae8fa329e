"""Figures: the arms of an experiment against its base, or where there is none their scores; and the
scores of all trials in order, with the noise of a single score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.base.texts import estimate_text, number_text
from core.features.experiments import ledger_table
from core.features.experiments.comparison_log import looked_by_dataset
from core.features.experiments.ledger_result import ledger_of
from core.plots import drawing, forest_plot
from core.plots.drawing import Line
from core.plots.forest_plot import Forest, Row
from core.plots.printed import CaptionedFigure, captioned
from core.runs.workspace import Workspace
from core.scoring.report_part import ReportPart, ShownRuns

_METRICS = {"de": "DE", "dir": "DIR", "mean": "mean"}


def draw_arms(arms: Sequence[Any], measure: str, metric: str, smallest_effect: float) -> Forest:
    """Return a forest plot.

    arms: `ArmResult`s. measure "score": a block for each metric with every arm's change from the
    base, beside the lines 0 and the smallest effect; own scores where no arm has a change.
    "answers": |Δ| of each arm above that of the base asked again. metric: the one that decides; the
    arms that differ in it are bold.
    """
    if measure == "answers":
        return Forest([*_moves(arms)], [], "mean |Δ| of the answers", [0.0])
    prefix = "delta_" if any(arm.delta(metric) is not None for arm in arms) else ""
    rows: list[Row] = []
    for key, name in _METRICS.items():
        block = [
            _row(arm, prefix, key, key == metric)
            for arm in arms
            if getattr(arm, prefix + key) is not None
        ]
        rows += [forest_plot.heading(name), *block] if block else []
    if not prefix:
        return Forest(rows, drawing.reference_lines({}), "AUROC")
    base = next((arm.name for arm in arms if arm.is_base), "the base")
    lines = [
        Line(0.0, base, dash="dot"),
        Line(smallest_effect, f"smallest effect {smallest_effect:g}"),
    ]
    return Forest(rows, lines, "change of the AUROC")


def _row(arm: Any, prefix: str, metric: str, decides: bool) -> Row:
    value, own, name = getattr(arm, prefix + metric), getattr(arm, metric), _METRICS[metric]
    estimate, low, high = value.ends
    words = estimate_text(estimate, low, high, "+.3f" if prefix else ".3f")
    tested = f"{words} · {_p(arm)}" if prefix and decides else words
    score = [f"{name} {estimate_text(*own.ends)}"] if prefix and own is not None else []
    hover = [arm.name, *score, tested, drawing.rows_text(value.n, name)]
    return Row(
        arm.name,
        value.ends,
        tested,
        hover,
        decides and arm.is_shown,
        None if prefix else drawing.CHOSEN,
    )


def _moves(arms: Sequence[Any]) -> Iterator[Row]:
    for arm in arms:
        if arm.moved is None:
            continue
        words = f"{estimate_text(*arm.moved.ends)} · one-sided {_p(arm)}"
        yield Row(
            arm.name,
            arm.moved.ends,
            words,
            [arm.name, words, drawing.rows_text(arm.n)],
            arm.is_shown,
        )
        if arm.floor is not None:
            again = estimate_text(*arm.floor.ends)
            hover = ["the base asked again", again, drawing.rows_text(arm.n)]
            yield Row("  asked again", arm.floor.ends, again, hover, colour=drawing.WARNING)


def _p(arm: Any) -> str:
    return f"p after Holm {number_text(arm.p_holm, '.4f')}"


def draw_scores(steps: Sequence[Mapping[str, Any]]) -> go.Figure:
    """Draw the scores in order, joined by a line, with the 95% noise of each.

    steps: each with step (a name), score, half width (None if unknown), and verdict (None for the
    score at the start). A confirmed step is a star.
    """
    table = pd.DataFrame(steps)
    score, half = table["score"], table["half width"].astype(float)
    # a name may occur twice
    names = [f"{place}. {name}" for place, name in enumerate(table["step"], 1)]
    table = table.assign(curve="score", x=names, y=score, low=score - half, high=score + half)
    return drawing.figure(table.assign(is_best=table["verdict"] == "confirmed"), "", "score")


def _make(workspace: Workspace, _: ShownRuns) -> list[CaptionedFigure]:
    with workspace.store.read() as db:
        entries = ledger_table.list_all(db)
    return [captioned(ledger_of(entries, looked_by_dataset(workspace)), "")]


PART = ReportPart(
    "ledger",
    "The ledger of hypotheses",
    "Which ideas survived, with corrected p, and the scores in order.",
    95,
    _make,
    files=looked_by_dataset,
)
