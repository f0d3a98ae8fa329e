"""What a browser sends to What-if becomes weights only if it is some."""

from __future__ import annotations

import math
from typing import Any

import pytest

from core.features.fuse.page.results import _read_weights


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([0.25, 1], [0.25, 1.0]),
        ([0, 0.5], [0.0, 0.5]),
        ([0.5], None),
        ([0.5, 0.5, 0.5], None),
        ([0.5, 1.01], None),
        ([-0.01, 0.5], None),
        ([math.nan, 0.5], None),
        (["0.5", 0.5], None),
        ([None, 0.5], None),
        ({"0": 0.5}, None),
        ("0.5", None),
        (None, None),
    ],
)
def test_weights_are_as_many_numbers_from_0_to_1_as_there_are_components(
    sent: Any, expected: list[float] | None
) -> None:
    assert _read_weights(sent, 2) == expected
