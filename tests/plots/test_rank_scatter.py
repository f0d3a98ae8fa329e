"""Ranks of two runs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.plots import rank_scatter

TABLE = pd.DataFrame(
    [
        ("A_x", "A", "x", "up", 1.0, 3.0),
        ("B_y", "B", "y", "none", 2.5, 1.0),
        ("C_z", "C", "<i>z", None, 2.5, 2.0),
        ("D_w", "D", "w", "up", np.nan, 4.0),
        ("E_v", "E", "v", "down", 4.0, 4.0),
    ],
    columns=["pair_id", "pert", "gene", "label", "rank_a", "rank_b"],
)


def test_marks_carry_ranks_and_labels() -> None:
    chart = rank_scatter.figure(TABLE, "first", "second")
    drawn = {
        trace.name: (list(trace.x), list(trace.y), list(trace.customdata)) for trace in chart.data
    }
    assert drawn == {  # D has no rank in the first run
        "unknown": ([2.5], [2.0], ["C_z"]),
        "none": ([2.5], [1.0], ["B_y"]),
        "down": ([4.0], [4.0], ["E_v"]),
        "up": ([1.0], [3.0], ["A_x"]),
    }
    assert {trace.type for trace in chart.data} == {"scatter"}
    assert chart.data[0].hovertext[0] == "C ⟶ &lt;i&gt;z"


def test_the_diagonal_is_drawn_and_the_first_rank_is_at_the_end() -> None:
    chart = rank_scatter.figure(TABLE, "first", "second <b>")
    line = chart.layout.shapes[0]
    assert (line.x0, line.y0, line.x1, line.y1) == (1, 1, 4, 4)
    for axis in (chart.layout.xaxis, chart.layout.yaxis):  # the first rank is at the end of both
        assert axis.range[0] > 4 > 1 > axis.range[1] > 0  # no tick at 0: ranks begin with 1
    assert "second &lt;b&gt;" in chart.layout.yaxis.title.text


def test_one_row_and_none() -> None:
    assert len(rank_scatter.figure(TABLE.head(1), "a", "b").data) == 1
    assert len(rank_scatter.figure(TABLE.iloc[[3]], "a", "b").data) == 0
