"""Published numbers as dots between lines at the tolerance."""

from __future__ import annotations

import pandas as pd
import pytest

from core.features.published.plots import published_differences

TABLE = pd.DataFrame(
    [
        ("A group", "a.one", 0.5, 0.502, 0.004, "agrees", ""),
        ("A group", "a.two", 0.5, 0.51, 0.004, "differs", "<b>another</b> cut"),
        ("B", "b.count", 31, 32, 0.0, "differs", ""),
        ("B", "b.same", 31, 31, 0.0, "agrees", ""),
        ("C", "c.none", 0.6, float("nan"), 0.1, "not computed", "no file"),
    ],
    columns=["group", "number", "published", "ours", "tolerance", "verdict", "why"],
)


def test_dots_lie_at_their_difference_in_tolerances() -> None:
    figure = published_differences.figure(TABLE)
    agrees, differs = figure.data
    assert list(agrees.x) == pytest.approx([0.5, 0.0])
    assert list(differs.x) == pytest.approx(
        [2.5, published_differences.EDGE]
    )  # a count has no tolerance: at the edge
    assert "&lt;b&gt;another" in differs.hovertext[0]
    assert list(figure.layout.yaxis.categoryarray) == ["A group", "B"]
