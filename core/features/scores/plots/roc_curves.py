"""Figure: ROC curves of runs, for DE and for DIR."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike
from plotly.subplots import make_subplots

from core.base.texts import NO_BIOLOGY
from core.plots import drawing
from core.stats.arrays import Codes
from core.stats.auroc import roc_curve, roc_curve_within
from core.stats.official_score import point_score
from core.stats.scores_and_labels import Scores, outcome_of, tasks

COLUMNS = ("task", "who", "n", "auroc", "fpr", "tpr")
TASKS: Final = {"DE": "DE: an effect against none", "DIR": "DIR: up against down"}
CONTROL: Final = NO_BIOLOGY  # drawn dashed
_LINE_LENGTH: Final = 22  # characters that fit into the narrowest panel, on a page of 900 px
_NAME_STEP: Final = 0.14  # height of a name of two lines, as a share of the panel
_ROOM: Final = 0.46  # height of the empty corner
# of a curve; an omitted corner is within 2 / 499 of a drawn one, less than the width of a line
POINTS: Final = 500


def table(
    labels: ArrayLike, scores: Mapping[str, Scores], cells: Codes | None = None
) -> pd.DataFrame:
    """Return the points of the curves; columns: task (DE, DIR), who, n (rows behind the curve),
    auroc, fpr, tpr.

    labels: of shape (n_rows,), None if unknown; scores: of each run, and of the control under the
    name `CONTROL`, on the same rows. cells: codes of shape (n_rows,), only pairs of rows inside one
    cell count; None: all pairs. A curve has at most `POINTS` points. A curve with a single class is
    left out.
    """
    outcome = outcome_of(labels)
    curves = []
    for who, score in scores.items():
        found = point_score(labels, score, cells)
        for name, area, task in zip(
            TASKS, (found.de, found.dir), tasks(outcome, score), strict=True
        ):
            if not np.isnan(area):
                positive, values = task.positive[task.rows], task.values[task.rows]
                curve = (
                    roc_curve(positive, values)
                    if cells is None
                    else roc_curve_within(positive, values, cells[task.rows])
                )
                # The first corner in each of equal steps of fpr + tpr, which never falls along the
                # curve
                fpr, tpr = curve.false_positive_rate, curve.true_positive_rate
                along = fpr + tpr
                corners = np.unique(np.searchsorted(along, np.linspace(0, along[-1], POINTS)))
                points = {"fpr": fpr[corners], "tpr": tpr[corners]}
                curves.append(
                    pd.DataFrame(
                        {"task": name, "who": who, "n": task.rows.sum(), "auroc": area, **points}
                    )
                )
    return pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(columns=list(COLUMNS))


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw one panel for each task with a curve and AUROC for each run: the first in colour, others
    grey, the control dashed.

    table: task, who, n, auroc, fpr, tpr, the points of each curve in order. Where it has a column
    run, the control is that of the first one.
    """
    if "run" in table:
        table = table[(table["who"] != CONTROL) | (table["run"] == table["run"].iloc[0])]
    present = [task for task in TASKS if task in set(table["task"])]
    chart = make_subplots(cols=max(1, len(present)), horizontal_spacing=0.09)
    chosen = next((who for who in table["who"] if who != CONTROL), None)
    for column, task in enumerate(present, start=1):
        part = table[table["task"] == task]
        drawing.draw_diagonal(chart, 0, 1, row=1, col=column)
        text = {"text": f"chance {drawing.CHANCE}", "showarrow": False, "font_size": drawing.SMALL}
        chart.add_annotation(
            x=0.1, y=0.02, xanchor="left", yanchor="bottom", row=1, col=column, **text
        )
        for who, curve in part.groupby("who", sort=False):
            _draw_curve(
                chart,
                column,
                str(who),
                curve,
                drawing.CHOSEN if who == chosen else drawing.BASELINE,
            )
        _draw_names(chart, column, part, chosen)
        _label_panel(chart, column, TASKS[task])
    chart.update_layout(height=int(1.6 * drawing.HEIGHT_PX), margin_t=8 + drawing.TEXT_PX + 6)
    return chart


def _draw_curve(chart: go.Figure, column: int, who: str, curve: pd.DataFrame, colour: str) -> None:
    task, rows, area = (curve[name].iloc[0] for name in ("task", "n", "auroc"))
    hover = f"{drawing.escape(who)}<br>AUROC {area:.3f}, {drawing.rows_text(rows, task)}"
    chart.add_scatter(
        x=curve["fpr"],
        y=curve["tpr"],
        name=who,
        mode="lines",
        line={"color": colour, "width": 2, "dash": "dash" if who == CONTROL else "solid"},
        hovertext=[hover] * len(curve),
        hovertemplate=(
            "%{hovertext}<br>false positive rate %{x:.3f}, true positive rate"
            " %{y:.3f}<extra></extra>"
        ),
        row=1,
        col=column,
    )


def _draw_names(chart: go.Figure, column: int, part: pd.DataFrame, chosen: object) -> None:
    """Write each curve's name in the empty corner with a leader to the curve; the lowest curve's
    name is at the top.

    A long name continues on a second line, and is cut there.
    """
    curves = sorted((curve["auroc"].iloc[0], str(who)) for who, curve in part.groupby("who"))
    step = min(_NAME_STEP, _ROOM / len(curves))
    for k, (area, who) in enumerate(curves):
        curve = part[part["who"] == who]
        fpr = 0.5 * 0.75**k
        words = textwrap.wrap(
            f"{who} {area:.3f}", _LINE_LENGTH, max_lines=2, placeholder=f"… {area:.3f}"
        )
        chart.add_annotation(
            x=fpr,
            y=float(np.interp(fpr, curve["fpr"], curve["tpr"])),
            ax=0.47,
            ay=0.05 + (len(curves) - 0.5 - k) * step,
            axref=f"x{column}",
            ayref=f"y{column}",
            xanchor="left",
            align="left",
            text="<br>".join(map(drawing.escape, words)),
            font_size=drawing.SMALL,
            arrowcolor=drawing.CHOSEN if who == chosen else drawing.BASELINE,
            arrowhead=6,
            arrowsize=2,
            arrowwidth=1,
            row=1,
            col=column,
        )


def _label_panel(chart: go.Figure, column: int, title: str) -> None:
    chart.update_xaxes(
        title="false positive rate", range=[-0.01, 1.01], zeroline=False, row=1, col=column
    )
    chart.update_yaxes(
        showgrid=True,
        title="true positive rate",
        range=[-0.01, 1.01],
        zeroline=False,
        row=1,
        col=column,
    )
    axis = "" if column == 1 else str(column)
    chart.add_annotation(
        text=f"<b>{title}</b>",
        xref=f"x{axis} domain",
        yref=f"y{axis} domain",
        x=0,
        y=1,
        showarrow=False,
        yanchor="bottom",
        yshift=4,
    )
