"""AUROCs of groups, raw and partially pooled."""

from __future__ import annotations

import pandas as pd
import pytest

from core.errors import InputError
from core.plots import pooled_aurocs, theme

TABLE = pd.DataFrame([("<A>", 5, 3, 1.0, 0.6, 0.5, 0.7), ("B", 2, 2, 0.0, 0.5, 0.4, 0.62)], columns=list(pooled_aurocs.COLUMNS))


def test_raw_and_pooled_stand_beside_each_other() -> None:
    chart = pooled_aurocs.figure(TABLE, 0.7, "AUROC of DE", "target genes")
    raw, pooled = chart.data
    assert (list(raw.y), list(pooled.y), list(raw.x)) == ([1.0, 0.0], [0.6, 0.5], [1, 2])
    assert (raw.name, pooled.name, pooled.marker.color) == ("raw", "partially pooled", theme.CHOSEN)
    assert list(pooled.error_y.array) == pytest.approx([0.1, 0.12])
    assert raw.hovertext[0].startswith("&lt;A&gt;<br>raw 1.000, partially pooled 0.600 [0.500, 0.700]")
    assert [note.text for note in chart.layout.annotations] == ["chance 0.5", "mean 0.700"]


def test_a_mean_near_chance_is_the_one_that_is_named() -> None:
    chart = pooled_aurocs.figure(TABLE, 0.51, "AUROC of DE", "target genes")
    assert [note.text for note in chart.layout.annotations] == ["", "mean 0.510"]


def test_a_wrong_table_is_refused() -> None:
    with pytest.raises(InputError, match="pooled_aurocs: missing column raw"):
        pooled_aurocs.figure(TABLE.drop(columns="raw"), 0.5, "", "")
