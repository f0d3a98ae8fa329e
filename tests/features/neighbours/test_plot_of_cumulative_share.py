"""On how many neighbours a prior rests."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.features.neighbours.plots import cumulative_share

WHAT = "prior of P(DE)"


def table_of(shares: list[float], labels: list[str | None]) -> pd.DataFrame:
    names = [f"P{k} ⟶ <b>" for k in range(1, len(shares) + 1)]
    labels = [labels[k % len(labels)] for k in range(len(shares))]
    return pd.DataFrame(
        {"neighbour": names, "share": shares, "cumulative": np.cumsum(shares), "label": labels}
    )


TABLE = table_of([0.4, 0.3, 0.2, 0.1], ["up", "none", None, "down"])


def notes(table: pd.DataFrame) -> list[str]:
    return cumulative_share.figure(table, WHAT, "gene").layout.xaxis.title.text.split("<br>")[1:]


def test_a_step_a_neighbour() -> None:
    line, dots = cumulative_share.figure(TABLE, WHAT, "gene").data
    assert line.line.shape == "hv"
    assert list(line.x) == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(line.y, [0, 40, 70, 90, 100])
    assert line.hovertext[2] == "2 genes hold 70.0%<br>number 2: P2 ⟶ &lt;b&gt;, 30%<br>label none"
    assert (list(dots.x), list(dots.y)) == ([1, 2, 3, 4], list(line.y)[1:])


def test_notes_say_how_many_hold_half_and_nine_tenths() -> None:
    # 0.4, 0.7, 0.9, 1.0: the second passes a half, the third reaches nine tenths, though 0.4 + 0.3 + 0.2 < 0.9 in floats.
    assert notes(TABLE) == ["2 genes hold half", "3 genes hold 90%"]


def test_a_part_that_the_rows_do_not_reach_is_not_told() -> None:
    assert notes(TABLE.head(2)) == ["2 genes hold half"]


def test_thousands_are_counted_on_a_logarithmic_axis() -> None:
    table = table_of([1 / 5000] * 5000, ["none"])
    chart = cumulative_share.figure(table, WHAT, "gene")
    assert chart.layout.xaxis.type == "log"
    assert chart.data[0].x[0] == 1  # it has no 0
    assert chart.layout.xaxis.range[1] >= np.log10(5000)
    assert len(chart.data[1].x) == cumulative_share.SIGNED
    assert notes(table) == ["2,500 genes hold half", "4,500 genes hold 90%"]
    assert (
        cumulative_share.figure(table_of([0.01] * 100, ["none"]), WHAT, "gene").layout.xaxis.type
        is None
    )
