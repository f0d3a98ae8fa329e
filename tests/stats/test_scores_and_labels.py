from __future__ import annotations

import numpy as np
import pytest

from core.base.errors import InputError
from core.stats.scores_and_labels import (
    outcome_of,
    scores_from_probabilities,
    scores_from_submission,
    shared_rows,
    tasks,
)


def test_file_scores_are_sum_and_share_with_zero_for_nothing() -> None:
    scores = scores_from_submission([0.3, 0.0, 1.0], [0.1, 0.0, 0.0])
    assert scores.p_de.tolist() == [0.4, 0.0, 1.0]
    np.testing.assert_allclose(scores.p_up, [0.75, 0.0, 1.0])


def test_file_scores_are_not_rounded() -> None:
    assert scores_from_submission([1e-12], [0.0]).p_de[0] == 1e-12


def test_a_sum_above_one_names_its_row_but_the_rounding_of_six_decimals_passes() -> None:
    assert scores_from_submission([0.500001], [0.5]).p_de[0] > 1
    with pytest.raises(
        InputError, match=r"prediction_up \+ prediction_down: row b: got 1\.2.*at most 1"
    ):
        scores_from_submission([0.1, 0.6], [0.1, 0.6], ids=["a", "b"])


def test_desk_scores_round_and_keep_missing_directions() -> None:
    scores = scores_from_probabilities([0.1 + 0.2, 0.3], [np.nan, 0.5])
    assert scores.p_de[0] == scores.p_de[1]
    assert np.isnan(scores.p_up[0])
    with pytest.raises(InputError, match="p_de: row 0: got nan"):
        scores_from_probabilities([np.nan], [0.5])
    with pytest.raises(InputError, match="p_de has 2, p_up has 1"):
        scores_from_probabilities([0.1, 0.2], [0.5])


def test_outcome_knows_four_labels_and_none() -> None:
    outcome = outcome_of(["up", "down", "none", "de", None])
    assert outcome.labelled.tolist() == [True, True, True, True, False]
    assert outcome.effect.tolist() == [True, True, False, True, False]
    assert outcome.up.tolist() == [True, False, False, False, False]
    assert outcome.directed.tolist() == [True, True, False, False, False]


def test_direction_counts_rows_of_known_direction_that_have_a_score() -> None:
    de, direction = tasks(
        outcome_of(["up", "down", "de", "up"]),
        scores_from_probabilities([1, 2, 3, 4], [0.1, np.nan, 0.3, 0.4]),
    )
    assert de.rows.all()
    assert direction.rows.tolist() == [True, False, False, True]


def test_shared_drops_a_direction_that_either_run_lacks() -> None:
    a, b = shared_rows(
        scores_from_probabilities([1, 2, 3], [0.1, np.nan, 0.3]),
        scores_from_probabilities([1, 2, 3], [np.nan, 0.2, 0.9]),
    )
    assert np.isnan(a.p_up).tolist() == np.isnan(b.p_up).tolist() == [True, True, False]
    assert (a.p_up[2], b.p_up[2]) == (0.3, 0.9)
