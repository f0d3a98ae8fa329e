from __future__ import annotations

import numpy as np
import pytest

from core.base.errors import InputError
from core.transfer.protocols import SupportRange, shrink_to_half, support_range, weights_by_support


def test_by_hand() -> None:
    reference = support_range(
        [0.0, 2.0, 6.0]
    )  # the row without support has no prior and does not count
    assert reference == SupportRange(2.0, 6.0)
    # strength 0.5: a = 1, 0.75, 0.5, and 0.5 beyond the range
    found = shrink_to_half([0.9, 0.9, 0.9, 0.9, np.nan], [2.0, 4.0, 6.0, 9.0, 0.0], reference, 0.5)
    np.testing.assert_allclose(found, [0.9, 0.75 * 0.9 + 0.125, 0.7, 0.7, np.nan])


def test_no_strength_and_a_range_of_one_point_change_nothing() -> None:
    values = np.array([0.2, 0.8])
    np.testing.assert_array_equal(
        shrink_to_half(values, [1.0, 2.0], SupportRange(1.0, 2.0), 0.0), values
    )
    np.testing.assert_array_equal(
        shrink_to_half(values, [1.0, 1.0], SupportRange(1.0, 1.0), 1.0), values
    )


def test_weights_follow_support() -> None:
    found = weights_by_support(0.2, 0.6, [0.0, 2.0, 4.0, 8.0], SupportRange(2.0, 6.0))
    np.testing.assert_allclose(found, [0.2, 0.2, 0.4, 0.6])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: support_range([0.0]), "no row has support"),
        (lambda: shrink_to_half([0.5], [1.0], SupportRange(0, 1), 1.5), "strength: got 1.5"),
        (lambda: weights_by_support(-0.1, 1, [1.0], SupportRange(0, 1)), "low_weight: got -0.1"),
    ],
)
def test_refused(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]
