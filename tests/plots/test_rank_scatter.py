"""Ranks of two runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.errors import InputError
from core.plots import rank_scatter, theme

TABLE = pd.DataFrame(
    [
        ("A_x", "A", "x", "up", 1.0, 3.0),
        ("B_y", "B", "y", "none", 2.5, 1.0),
        ("C_z", "C", "<i>z", None, 2.5, 2.0),
        ("D_w", "D", "w", "up", np.nan, 4.0),
        ("E_v", "E", "v", "down", 4.0, 4.0),
    ],
    columns=list(rank_scatter.COLUMNS),
)


def test_marks_carry_ranks_and_labels() -> None:
    chart = rank_scatter.figure(TABLE, "first", "second")
    drawn = {trace.name: (list(trace.x), list(trace.y), list(trace.customdata)) for trace in chart.data}
    assert drawn == {  # D has no rank in the first run
        "unknown": ([2.5], [2.0], ["C_z"]),
        "none": ([2.5], [1.0], ["B_y"]),
        "down": ([4.0], [4.0], ["E_v"]),
        "up": ([1.0], [3.0], ["A_x"]),
    }
    assert {trace.type for trace in chart.data} == {"scatter"}
    assert chart.data[0].hovertext[0] == "C ⟶ &lt;i&gt;z"


def test_signs_and_colours_are_those_of_the_theme() -> None:
    chart = rank_scatter.figure(TABLE, "first", "second")
    found = {trace.name: (trace.marker.color, trace.marker.symbol) for trace in chart.data}
    assert found["up"] == (theme.UP, "triangle-up")
    assert found["down"] == (theme.DOWN, "triangle-down")
    assert found["none"] == (theme.NONE, "circle")


def test_the_diagonal_and_the_signs_are_named() -> None:
    chart = rank_scatter.figure(TABLE, "first", "second <b>", "P(up | DE)")
    line = chart.layout.shapes[0]
    assert (line.x0, line.y0, line.x1, line.y1) == (1, 1, 4, 4)
    diagonal, key = chart.layout.annotations
    assert (diagonal.text, diagonal.x, diagonal.y) == ("same rank", 1, 1)
    for axis in (chart.layout.xaxis, chart.layout.yaxis):  # the first rank is at the end of both
        assert axis.range[0] > 4 > 1 > axis.range[1] > 0  # no tick at 0: ranks begin with 1
    for words in ("▲</span> up 1", "▼</span> down 1", "●</span> none 1", "○</span> no label 1"):
        assert words in key.text
    assert chart.layout.xaxis.title.text == "rank of P(up | DE) in first (1 is the largest)"
    assert chart.layout.yaxis.title.text == "rank of P(up | DE) in second &lt;b&gt; (1 is the largest)"


def test_one_row_and_none() -> None:
    assert len(rank_scatter.figure(TABLE.head(1), "a", "b").data) == 1
    assert len(rank_scatter.figure(TABLE.iloc[[3]], "a", "b").data) == 0


def test_a_wrong_table_is_refused() -> None:
    with pytest.raises(InputError, match="rank_scatter: missing columns rank_a, rank_b"):
        rank_scatter.figure(TABLE.drop(columns=["rank_a", "rank_b"]), "a", "b")
    with pytest.raises(InputError, match="rank_scatter: label: got 'high'"):
        rank_scatter.figure(TABLE.assign(label="high"), "a", "b")
