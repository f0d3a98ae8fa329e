"""Masks: which values a model may not see."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import InputError
from core.target_ranking.expression import MASKS, STRONGEST, mask_expression, read_mask

CONTROL = np.ones((2, 14), dtype=np.float32)
X = np.ones((2, 14), dtype=np.float32)
X[0] += np.arange(14) / 10  # the last ten differ most
X[1] -= np.arange(14)[::-1] / 10  # the first ten differ most, downwards


def test_nothing_is_masked() -> None:
    assert np.array_equal(mask_expression(X, CONTROL, "none", ()), X)


def test_the_strongest_of_each_row_have_the_value_of_its_control() -> None:
    found = mask_expression(X, CONTROL, "strongest", ())
    assert STRONGEST == 10
    assert np.array_equal(found[0, :4], X[0, :4])
    assert np.all(found[0, 4:] == 1)
    assert np.all(found[1, :10] == 1)
    assert np.array_equal(found[1, 10:], X[1, 10:])
    assert X[0, 13] == np.float32(2.3)  # what was given is left as it is


def test_targets_of_all_conditions_are_masked_in_every_row() -> None:
    found = mask_expression(X, CONTROL, "targets", (0, 13))
    assert np.all(found[:, [0, 13]] == 1)
    assert np.array_equal(found[:, 1:13], X[:, 1:13])


def test_masks_have_names() -> None:
    assert [read_mask(name) for name in MASKS] == ["none", "strongest", "targets"]
    with pytest.raises(InputError, match="mask: got 'all', expected none, strongest, targets"):
        read_mask("all")
