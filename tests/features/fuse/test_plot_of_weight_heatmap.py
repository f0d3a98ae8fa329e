"""The weight plane and its table."""

from __future__ import annotations

import numpy as np
import pytest

from core.features.fuse import weight_heatmap

GRID = (0.0, 0.5, 1.0)
MEAN = [[0.50, 0.51, 0.52], [0.60, 0.61, 0.62], [0.55, 0.56, np.nan]]  # a row is a weight of DE
PLATEAU = [[False, False, False], [False, True, True], [False, False, False]]
TABLE = weight_heatmap.table(GRID, MEAN, PLATEAU)


def test_table_is_one_row_a_pair() -> None:
    assert list(TABLE.columns) == list(weight_heatmap.COLUMNS)
    assert TABLE["w_de"].tolist() == [0.0] * 3 + [0.5] * 3 + [1.0] * 3
    assert TABLE["w_dir"].tolist() == [0.0, 0.5, 1.0] * 3
    assert TABLE.loc[5].tolist() == [0.5, 1.0, 0.62, True]


def test_the_weight_of_de_is_across_and_that_of_dir_is_up() -> None:
    surface = weight_heatmap.figure(TABLE, (0.2, 0.9), (0.5, 1.0), "text").data[0]
    assert (surface.type, list(surface.x), list(surface.y)) == ("heatmap", list(GRID), list(GRID))
    np.testing.assert_array_equal(surface.z, np.transpose(MEAN))
    assert (surface.text != "").tolist() == [
        [False] * 3,
        [False, True, False],
        [False, True, False],
    ]  # the plateau


def test_the_ring_follows_the_borders_of_the_plateau() -> None:
    rings = [
        trace
        for trace in weight_heatmap.figure(TABLE, (0.2, 0.9), (0.5, 1.0), "text").data
        if trace.type == "contour"
    ]
    # The plateau is the cells at 0.5 of DE, and 0.5 and 1 of DIR, which are 0.5 wide: 0.25 to 0.75 by 0.25 to 1.25.
    x, y, z = (np.asarray(part, dtype=float) for part in (rings[1].x, rings[1].y, rings[1].z))
    rows, columns = np.nonzero(z)
    assert (x[columns].min(), x[columns].max(), y[rows].min(), y[rows].max()) == pytest.approx(
        (0.25, 0.75, 0.25, 1.25), abs=1e-3
    )


def test_now_and_best_are_marked_and_best_is_named() -> None:
    chart = weight_heatmap.figure(TABLE, (0.2, 0.9), (0.5, 1.0), "text")
    drawn = {trace.name: trace for trace in chart.data if trace.type == "scatter"}
    places = {name: (trace.x[0], trace.y[0], trace.marker.symbol) for name, trace in drawn.items()}
    assert places == {"best weights": (0.5, 1.0, "circle"), "your weights": (0.2, 0.9, "cross")}
    assert "best weights 0.620" in chart.layout.annotations[0].text
