"""Rows that move most."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.errors import InputError
from core.plots import rank_movers

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
    ends = sorted((y, *x) for trace in lines for y, x in zip(trace.y[::3], np.reshape(trace.x, (-1, 3))[:, :2], strict=True))
    assert [(y, start) for y, start, _ in ends] == [(0, 100), (1, 900.5), (2, 50)]
    assert [end for *_, end in ends] == pytest.approx([1512, 20, 50], abs=25)
    assert ends[0][2] < 1512  # before the sign


def test_names_changes_and_ranks_are_told() -> None:
    chart = rank_movers.figure(TABLE, "first", "second <b>", "P(up | DE)")
    assert list(chart.layout.yaxis.ticktext) == ["A ⟶ x", "B ⟶ y", "C ⟶ &lt;i&gt;z"]
    assert list(chart.layout.yaxis2.ticktext) == ["−1,412", "+880.5", "+10"]
    assert "second &lt;b&gt;" in chart.layout.xaxis.title.text


def test_every_mark_leads_to_its_row() -> None:
    for trace in rank_movers.figure(TABLE, "a", "b").data:
        if trace.mode == "markers":
            assert [["A_x", "B_y", "C_z"][line] for line in trace.y] == list(trace.customdata)


def test_the_first_twenty_are_drawn_in_the_order_given() -> None:
    many = pd.DataFrame([(f"{k}", "P", f"g{k}", "none", k, 2.0 * k) for k in range(30, 0, -1)], columns=list(rank_movers.COLUMNS))
    chart = rank_movers.figure(many, "a", "b")
    assert list(chart.layout.yaxis.ticktext) == [f"P ⟶ g{k}" for k in range(30, 10, -1)]


def test_a_wrong_table_is_refused() -> None:
    for rows in (TABLE.head(0), TABLE.iloc[[2]]):
        with pytest.raises(InputError, match="rank_movers: got no row with a rank in both a and b; expected at least one"):
            rank_movers.figure(rows, "a", "b")
