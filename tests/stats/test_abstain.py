"""Risk against coverage, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from core.stats.abstain import abstain_curve
from core.stats.scores_and_labels import Task

CLUSTERS = np.arange(10)


def task(positive: list[int], values: list[float]) -> Task:
    return Task(np.ones(len(positive), dtype=np.bool_), np.array(positive, dtype=np.bool_), np.array(values))


def test_the_surest_rows_come_first() -> None:
    # five positive rows, so the border lies between the fifth and the sixth value; the two rows beside it are swapped
    values = [0.95, 0.9, 0.8, 0.7, 0.55, 0.45, 0.3, 0.2, 0.1, 0.05]
    found = abstain_curve(task([1, 1, 1, 1, 0, 1, 0, 0, 0, 0], values), CLUSTERS, CLUSTERS)
    assert found is not None
    assert [point.n for point in found.points] == list(range(1, 11))
    assert [point.risk.estimate for point in found.points] == pytest.approx([0] * 8 + [1 / 9, 0.2])
    assert found.area == pytest.approx((1 / 9 + 0.2) / 10)
    assert found.area == found.least  # no order is better
    assert found.at_random == 0.2


def test_one_class_has_no_curve() -> None:
    assert abstain_curve(task([1] * 4, [0.1, 0.2, 0.3, 0.4]), CLUSTERS[:4], CLUSTERS[:4]) is None
