"""Risk against coverage as a figure."""

from __future__ import annotations

import pandas as pd
import pytest

from core.errors import InputError
from core.plots import risk_coverage

TABLE = pd.DataFrame(
    [("DE", 0.5, 50, 0.2, 0.1, 0.3, 0.4), ("DE", 1.0, 100, 0.4, 0.3, 0.5, 0.4), ("DIR", 1.0, 40, 0.3, 0.2, 0.4, 0.3)],
    columns=list(risk_coverage.COLUMNS),
)


def test_each_question_stands_beside_abstaining_at_random() -> None:
    de, random, direction, _ = risk_coverage.figure(TABLE).data
    assert (list(de.x), list(de.y)) == ([0.5, 1.0], [0.2, 0.4])
    assert list(de.error_y.array) == pytest.approx([0.1, 0.1])
    assert (list(random.y), direction.name) == ([0.4, 0.4], "DIR")
    assert de.hovertext[0] == "wrong in 0.200 [0.100, 0.300] of 50 rows"


def test_a_wrong_table_is_refused() -> None:
    with pytest.raises(InputError, match="risk_coverage: missing column at_random"):
        risk_coverage.figure(TABLE.drop(columns="at_random"))
