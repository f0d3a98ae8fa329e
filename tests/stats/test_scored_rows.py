from __future__ import annotations

import numpy as np
import pytest

from core.base.errors import InputError
from core.stats.scores_and_labels import combine_codes, scored_rows, scores_from_probabilities


def test_rows_keep_what_they_share() -> None:
    scores = scores_from_probabilities([0.1, 0.2, 0.3], [0.4, 0.5, np.nan])
    rows = scored_rows(["up", "none", None], scores, ["A", "B", "A"], ["x", "x", "y"], [7, 9, 7])
    assert (rows.pert.tolist(), rows.gene.tolist()) == ([0, 1, 0], [0, 0, 1])
    assert rows.cells.tolist() == [0, 1, 0]
    assert rows.counts() == (3, 2, 1)
    some = rows.take(np.array([True, False, True]))
    assert (len(some), some.scores.p_de.tolist(), some.counts()) == (2, [0.1, 0.3], (2, 1, 1))
    de, direction = rows.tasks()
    assert (de.rows.tolist(), direction.rows.tolist()) == (
        [True, True, False],
        [True, False, False],
    )


def test_lengths_are_checked() -> None:
    with pytest.raises(InputError, match="cells has 1"):
        scored_rows(
            ["up", "none"], scores_from_probabilities([0.1, 0.2], [0.3, 0.4]), [0, 1], [0, 1], [0]
        )


def test_combined_codes_are_equal_where_all_are() -> None:
    rng = np.random.default_rng(2)
    a, b, c = rng.integers(0, 5, (3, 200))
    combined = combine_codes(a, None, b, c)
    same = (a[:, None] == a) & (b[:, None] == b) & (c[:, None] == c)
    np.testing.assert_array_equal(combined[:, None] == combined, same)
    assert combine_codes(None, None) is None
