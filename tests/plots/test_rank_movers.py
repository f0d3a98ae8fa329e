"""Rows that move most."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.errors import InputError
from core.plots import rank_movers, theme

TABLE = pd.DataFrame(
    [
        ("A_x", "A", "x", "up", 100.0, 1512.0),
        ("B_y", "B", "y", "none", 900.5, 20.0),
        ("D_w", "D", "w", "up", np.nan, 4.0),
        ("C_z", "C", "<i>z", None, 50.0, 40.0),
    ],
    columns=list(rank_movers.COLUMNS),
)


def test_a_row_goes_from_a_dot_to_its_sign() -> None:
    chart = rank_movers.figure(TABLE, "first", "second")
    marked = [trace for trace in chart.data if trace.mode == "markers"]
    *signs, before = marked
    assert {(x, y) for trace in signs for x, y in zip(trace.x, trace.y, strict=True)} == {(1512, 0), (20, 1), (40, 2)}
    assert list(zip(before.x, before.y, strict=True)) == [(100, 0), (900.5, 1), (50, 2)]  # D has no rank in the first
    lines = [trace for trace in chart.data if trace.mode == "lines"]
    assert list(chart.data[: len(lines)]) == lines  # beneath the signs
    ends = sorted((y, *x) for trace in lines for y, x in zip(trace.y[::3], np.reshape(trace.x, (-1, 3))[:, :2], strict=True))
    assert [(y, start) for y, start, _ in ends] == [(0, 100), (1, 900.5), (2, 50)]
    assert [end for *_, end in ends] == pytest.approx([1512, 20, 50], abs=25)
    assert ends[0][2] < 1512  # before the sign
    assert {trace.error_x.visible for trace in signs} == {False}


def test_signs_and_colours_are_those_of_the_theme() -> None:
    chart = rank_movers.figure(TABLE, "first", "second")
    found = {
        trace.customdata[0]: (trace.marker.color, trace.marker.symbol[0])
        for trace in chart.data
        if trace.mode == "markers" and trace.name != "before"
    }
    assert found["A_x"] == (theme.UP, "triangle-up")
    assert found["B_y"] == (theme.NONE, "circle")
    assert found["C_z"] == (theme.NULL, "circle-open")
    key = chart.layout.annotations[-1].text
    for words in ("▲</span> up 1", "●</span> none 1", "○</span> no label 1"):
        assert words in key


def test_names_changes_and_ranks_are_told() -> None:
    chart = rank_movers.figure(TABLE, "first", "second <b>", "P(up | DE)")
    assert list(chart.layout.yaxis.ticktext) == ["A ⟶ x", "B ⟶ y", "C ⟶ &lt;i&gt;z"]
    assert list(chart.layout.yaxis2.ticktext) == ["−1,412", "+880.5", "+10"]
    assert chart.data[-1].hovertext[1] == "B ⟶ y<br>label none<br>rank 900.5 → 20"
    title = "rank of P(up | DE) (1 is the largest)<br>dot in first, sign in second &lt;b&gt;"
    assert chart.layout.xaxis.title.text == title


def test_every_mark_leads_to_its_row() -> None:
    for trace in rank_movers.figure(TABLE, "a", "b").data:
        if trace.mode == "markers":
            assert [["A_x", "B_y", "C_z"][line] for line in trace.y] == list(trace.customdata)


def test_the_first_twenty_are_drawn_in_the_order_given() -> None:
    many = pd.DataFrame([(f"{k}", "P", f"g{k}", "none", k, 2.0 * k) for k in range(30, 0, -1)], columns=list(rank_movers.COLUMNS))
    chart = rank_movers.figure(many, "a", "b")
    assert list(chart.layout.yaxis.ticktext) == [f"P ⟶ g{k}" for k in range(30, 10, -1)]
    assert chart.layout.height > rank_movers.figure(many.head(2), "a", "b").layout.height


def test_a_row_that_did_not_move_has_a_range() -> None:
    left, right = rank_movers.figure(TABLE.head(1).assign(rank_a=1, rank_b=1), "a", "b").layout.xaxis.range
    assert left > 10
    assert right < 1


def test_a_wrong_table_is_refused() -> None:
    with pytest.raises(InputError, match="rank_movers: missing columns rank_a, rank_b"):
        rank_movers.figure(TABLE.drop(columns=["rank_a", "rank_b"]), "a", "b")
    with pytest.raises(InputError, match="rank_movers: label: got 'high'"):
        rank_movers.figure(TABLE.assign(label="high"), "a", "b")
    for rows in (TABLE.head(0), TABLE.iloc[[2]]):
        with pytest.raises(InputError, match="rank_movers: got no row with a rank in both a and b; expected at least one"):
            rank_movers.figure(rows, "a", "b")
