"""The figure of the kinds of arguments."""

from __future__ import annotations

import pandas as pd
import pytest

from core.errors import InputError
from core.plots import argument_kinds, theme

NAN = float("nan")
TABLE = pd.DataFrame(
    [("stress, response", 300, 100, 0.75, 0.4, 0.3, 0.5), ("<b>no</b>", 100, 0, 0.25, NAN, NAN, NAN)],
    columns=list(argument_kinds.COLUMNS),
)


def test_a_dot_for_each_kind_with_labels_and_the_line_of_all_rows() -> None:
    chart = argument_kinds.figure(TABLE, 0.45)
    assert list(chart.data[0].x) == [0.4]
    assert list(chart.data[0].error_x.array) == pytest.approx([0.1])
    assert list(chart.layout.yaxis.ticktext) == ["stress, response  300 texts (75%)", "&lt;b&gt;no&lt;/b&gt;  100 texts (25%)"]
    assert list(chart.layout.yaxis2.ticktext) == ["0.40 [0.30, 0.50]", "no labels"]
    assert "all rows 0.45" in [note.text for note in chart.layout.annotations]


def test_several_runs_have_a_block_each_below_their_name_and_rate() -> None:
    both = pd.concat([TABLE.assign(run="<i>one</i>"), TABLE.assign(run="two", estimate=0.6, low=0.5, high=0.7)])
    chart = argument_kinds.runs_figure(both, {"<i>one</i>": 0.45, "two": 0.61})
    assert [chart.layout.yaxis.ticktext[i] for i in (0, 3)] == ["<i>&lt;i&gt;one&lt;/i&gt;</i>", "<i>two</i>"]
    assert [chart.layout.yaxis2.ticktext[i] for i in (0, 3)] == ["all rows 0.45", "all rows 0.61"]
    dots = {trace.marker.color: list(trace.x) for trace in chart.data if trace.mode == "markers"}
    assert dots == {theme.CHOSEN: [0.4], theme.BASELINE: [0.6, 0.6]}


def test_missing_columns_are_named() -> None:
    with pytest.raises(InputError, match="argument_kinds: missing column share"):
        argument_kinds.figure(TABLE.drop(columns="share"), 0.5)
