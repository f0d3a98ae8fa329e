"""The figure of the kinds of arguments."""

from __future__ import annotations

import pandas as pd
import pytest

from core.errors import InputError
from core.plots import argument_kinds

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


def test_missing_columns_are_named() -> None:
    with pytest.raises(InputError, match="argument_kinds: missing column share"):
        argument_kinds.figure(TABLE.drop(columns="share"), 0.5)
