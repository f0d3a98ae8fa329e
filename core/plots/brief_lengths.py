"""Figure: the lengths of each role's briefs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme

_STRENGTHS = (1.0, 0.55, 0.2)  # opacity of each role's colour, from a letter to a paragraph


def length_classes(lengths: pd.DataFrame, bare: int, short: int) -> pd.DataFrame:
    """Return the number of briefs of each role by length class; columns: role, a letter, one line, a paragraph.

    lengths: one row for each brief with role and length (characters). A letter has at most `bare` characters, a paragraph at
    least `short`.
    """
    edges = [-np.inf, bare, short - 1, np.inf]
    names = ["a letter", "one line", "a paragraph"]
    kind = pd.cut(lengths["length"], edges, labels=names)
    table = pd.crosstab(lengths["role"], kind, dropna=False).reindex(columns=names, fill_value=0)
    order = [role for role in theme.ROLE_COLOURS if role in table.index]
    order += [role for role in table.index if role not in order]
    return table.loc[order].reset_index().rename_axis(columns=None)


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw one stacked bar for each role with the shares of its briefs in each class.

    table: from `length_classes`; with a column run for several runs, whose names are then shown beside the role.
    """
    counts = table.drop(columns=["role", "run"], errors="ignore")
    names = list(table["role"])
    if "run" in table:
        names = [f"{role} <sup>{drawing.escape(run, 24)}</sup>" for role, run in zip(names, table["run"], strict=True)]
    shares = 100 * counts.div(counts.sum(axis=1), axis=0)
    figure = go.Figure()
    for name, strength in zip(counts.columns, _STRENGTHS, strict=True):
        figure.add_bar(
            y=names,
            x=shares[name],
            orientation="h",
            marker_color=[theme.tint(theme.ROLE_COLOURS.get(role, theme.NONE), strength) for role in table["role"]],
            textfont_color=theme.INK_ON[strength > 0.6],
            text=[f"{name} {share:.0f}%" if share >= 8 else "" for share in shares[name]],
            textposition="inside",
            insidetextanchor="middle",
            customdata=counts[name],
            hovertemplate=f"%{{y}}: {name}, %{{customdata:,}} briefs, %{{x:.1f}}%<extra></extra>",
        )
    figure.update_layout(barmode="stack", height=70 + int(1.4 * theme.ROW_PX) * len(table))
    figure.update_xaxes(title="share of briefs, %", range=[0, 100])
    figure.update_yaxes(autorange="reversed")
    return figure
