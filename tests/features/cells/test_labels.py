"""Labels at their thresholds, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.base.errors import InputError
from core.features.cells.columns import GeneNames
from core.features.cells.differential_expression import GeneChanges, GuideExpression
from core.features.cells.labels import (
    DOWN,
    LEFT_OUT,
    NONE,
    UP,
    Thresholds,
    knockdown_table,
    label_pairs,
)

LIMIT = math.log2(1.5)


def changes(fdr: list[float], log2_fc: list[float]) -> GeneChanges:
    shape = (1, len(fdr))
    arrays = [np.array(values).reshape(shape) for values in (fdr, fdr, log2_fc)]
    return GeneChanges(*arrays, control_mean=np.ones(len(fdr)), guides=())


@pytest.mark.parametrize(
    ("fdr", "log2_fc", "code"),
    [
        (0.049, LIMIT, UP),
        (0.049, -LIMIT, DOWN),
        (0.05, LIMIT, LEFT_OUT),  # not below 5%
        (0.049, LIMIT - 1e-9, LEFT_OUT),
        (0.05, 0.2499, NONE),
        (1.0, -0.2499, NONE),
        (0.049, 0.1, LEFT_OUT),  # significant, and small
        (0.9, 0.25, LEFT_OUT),
        (np.nan, np.nan, LEFT_OUT),
        (0.9, np.nan, LEFT_OUT),
    ],
)
def test_thresholds(fdr: float, log2_fc: float, code: int) -> None:
    assert label_pairs(
        changes([fdr], [log2_fc]), ["T"], GeneNames(("A",)), Thresholds()
    ).tolist() == [[code]]


def test_the_target_itself_has_no_label() -> None:
    codes = label_pairs(
        changes([0.001, 0.001], [-3, -3]), ["A"], GeneNames(("A", "B")), Thresholds()
    )
    assert codes.tolist() == [[LEFT_OUT, DOWN]]


def test_all_four_numbers_can_be_set() -> None:
    found = label_pairs(
        changes([0.09, 0.15, 0.3], [0.4, 0.1, 0.35]),
        ["T"],
        GeneNames(("A", "B", "C")),
        Thresholds(0.1, 0.4, 0.2, 0.4),
    )
    assert found.tolist() == [[UP, LEFT_OUT, NONE]]  # B is neither below 10% nor at least 20%


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((0.0,), "fdr: got 0.0, expected a number, more than 0, at most 1"),
        ((0.05, 0.1, 0.05, 0.2), "got 0.1 for an effect and 0.2 for none"),
        (
            (0.05, 0.5, 0.01, 0.2),
            r"FDR of none: got 0.01, expected at least the FDR of an effect \(0.05\)",
        ),
        ((0.05, math.nan), "log2_fc: got nan, expected a number, more than 0"),
    ],
)
def test_impossible_thresholds_are_refused(values: tuple[float, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Thresholds(*values)


def test_guides_fail_above_the_most_that_may_remain() -> None:
    guides = [
        GuideExpression("A", "", 60, 2.0, 8.0),
        GuideExpression("A", "A_1", 30, 7.2, 8.0),
        GuideExpression("A", "A_2", 30, 5.6, 8.0),
        GuideExpression("B", "", 30, 1.0, 0.0),
    ]
    table = knockdown_table(guides)
    assert table["remaining"].tolist()[:3] == pytest.approx([0.25, 0.9, 0.7])
    assert table["failed"].tolist()[:3] == [False, True, False]  # 0.7 is not above 0.7
    assert math.isnan(table["remaining"][3])
    assert table["failed"].isna().tolist() == [False, False, False, True]
