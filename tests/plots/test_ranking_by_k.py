"""Models by k: lines, the band of the chosen one, names that do not touch."""

from __future__ import annotations

import itertools

import pandas as pd

from core.plots import ranking_by_k, theme

ROWS = [
    (model, k, value, value - 0.1, value + 0.1, 0.01 * k, 0.5, 30, 15)
    for model, values in (("a", (0.2, 0.4)), ("<b>b</b>", (0.1, 0.41)))
    for k, value in zip((1, 5), values, strict=True)
]
TABLE = pd.DataFrame(ROWS, columns=list(ranking_by_k.COLUMNS))


def test_a_line_for_each_model_the_random_level_and_the_ceiling() -> None:
    chart = ranking_by_k.figure(TABLE, "a", "recall")
    lines = {line.name: line for line in chart.data if line.name}
    assert list(lines) == ["a", "<b>b</b>", "ceiling, trained genes", "random ranking"]
    assert list(lines["a"].y) == [0.2, 0.4]
    assert lines["a"].line.color == theme.CHOSEN
    assert lines["<b>b</b>"].line.color == theme.BASELINE
    assert list(lines["random ranking"].y) == [0.01, 0.05]
    assert [trace.fill for trace in chart.data].count("toself") == 1  # the band of the chosen model
    assert list(chart.layout.xaxis.ticktext) == ["1", "5"]


def test_names_are_escaped_and_moved_apart() -> None:
    names = ranking_by_k.figure(TABLE, "a", "recall").layout.annotations
    assert any("&lt;b&gt;b&lt;/b&gt;" in name.text for name in names)
    heights = sorted(name.y for name in names)
    assert min(b - a for a, b in itertools.pairwise(heights)) >= 0.06
