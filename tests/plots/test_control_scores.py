"""A run beside the baselines without biology."""

from __future__ import annotations

import pandas as pd

from core.plots import control_scores

TABLE = pd.DataFrame(
    [
        ("run", "the run", 0.5, 0.5, 0.5, 40, True),
        ("base rate", "one number", 0.5, 0.5, 0.5, 40, False),
        ("count-only", "counts", 0.6, 0.5, 0.7, 40, False),
        ("<b>gene</b> mean", "a mean", 0.5, 0.5, 0.5, 40, False),
        ("perfect", "all", 1.0, 1.0, 1.0, 40, False),
    ],
    columns=list(control_scores.COLUMNS),
)


def test_controls_that_tie_all_rows_share_one_row() -> None:
    chart = control_scores.figure(TABLE, "AUROC, DE")
    assert list(chart.layout.yaxis.ticktext) == ["<b>run</b>", "base rate and 1 more", "count-only", "perfect"]
    assert chart.layout.yaxis2.ticktext[1] == "0.500, all rows tied"
    hovers = [text for trace in chart.data if trace.hovertext is not None for text in trace.hovertext]
    assert any("base rate: one number<br>&lt;b&gt;gene&lt;/b&gt; mean: a mean" in text for text in hovers)


def test_one_alone_keeps_its_name() -> None:
    chart = control_scores.figure(TABLE.iloc[:3], "AUROC, DE")
    assert list(chart.layout.yaxis.ticktext) == ["<b>run</b>", "base rate", "count-only"]
