from __future__ import annotations

import numpy as np
import pytest

from core.base.errors import InputError
from core.embeddings.space import make_space
from core.transfer.similarity import (
    ConstantSimilarity,
    Cosines,
    OwnSimilarity,
    SimilarityMatrices,
    Space,
    cosine_similarity,
    space_over,
    unit_vectors,
)

NAN = float("nan")
FIRST = np.array([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [NAN, NAN], [0.0, 0.0]])
SECOND = np.array([[2.0], [NAN], [3.0], [1.0], [NAN]])
ALL = np.arange(5)


def test_one_space_by_hand() -> None:
    found = cosine_similarity([Space("a", FIRST)]).block(ALL, ALL)
    assert found[0, :2] == pytest.approx([1.0, np.sqrt(0.5)])
    assert found[0, 2] == 0.0  # opposite: a cosine of -1, cut at 0
    assert not found[3].any()  # not covered
    assert not found[4].any()  # a vector without a direction covers nothing


def test_the_mean_is_over_the_spaces_that_cover_both() -> None:
    ensemble = cosine_similarity([Space("a", FIRST), Space("b", SECOND)])
    found = ensemble.block(ALL, ALL)
    assert found[0, 1] == pytest.approx(np.sqrt(0.5))  # the first alone
    assert found[0, 2] == pytest.approx((0.0 + 1.0) / 2)
    assert found[0, 3] == pytest.approx(1.0)  # the second alone
    assert found[1, 3] == 0.0  # none


def test_centred_on_the_given_symbols_before_the_length_is_taken() -> None:
    # the mean of symbols 0 and 1 is (1, 0.5): (0, -0.5), (0, 0.5), (-2, -0.5)
    units = unit_vectors(FIRST, np.array([0, 1, 3]))
    np.testing.assert_allclose(
        units.vectors[:3], [[0, -1], [0, 1], np.array([-2, -0.5]) / np.sqrt(4.25)]
    )
    np.testing.assert_array_equal(units.row, [0, 1, 2, -1, 3])


def test_what_centring_leaves_nothing_of_is_not_covered() -> None:
    constant = np.tile([[0.1, 0.2, 0.3]], (3, 1))
    assert (unit_vectors(constant, np.arange(3)).row == -1).all()
    assert (unit_vectors(FIRST, np.array([1])).row == [0, -1, 1, -1, 2]).all()


def test_vectors_of_any_length_count_alike() -> None:
    extreme = np.array([[1e30, 1e30], [1e-30, 1e-30], [3e38, 0]])
    found = cosine_similarity([Space("extreme", extreme)]).block(np.arange(3), np.arange(3))
    np.testing.assert_allclose(found, [[1, 1, 0.5**0.5], [1, 1, 0.5**0.5], [0.5**0.5, 0.5**0.5, 1]])


def test_a_gene_space_over_a_datasets_symbols() -> None:
    given = make_space(
        "s", ["A", "B"], np.array([[3.0, 4.0], [0.0, 5.0]]), "here", built_from_labels="x"
    )
    found = space_over(given, ["b", "Mouse", "C"], {"Mouse": "A"})
    np.testing.assert_array_equal(found.columns, [[0, 5], [3, 4], [NAN, NAN]])
    assert (found.name, found.built_from) == ("s", "x")


def test_a_right_angle_is_no_similarity() -> None:
    angle = np.array([[0.1, 0.3], [-0.3, 0.1]]) / 3
    assert Cosines((unit_vectors(angle),)).block(np.array([0]), np.array([1]))[0, 0] == 0.0


def test_matrices_and_blocks_agree_with_vectors() -> None:
    rng = np.random.default_rng(0)
    columns = [
        np.where(rng.random((40, 1)) < 0.7, rng.normal(size=(40, n)), np.nan) for n in (3, 6)
    ]
    ensemble = cosine_similarity([Space(str(n), column) for n, column in enumerate(columns)])
    everyone, some, others = np.arange(40), rng.permutation(40)[:7], rng.permutation(40)[:9]
    covered = np.stack([~np.isnan(column[:, 0]) for column in columns])
    both = covered[:, :, None] & covered[:, None, :]
    blocks = np.stack(
        [cosine_similarity([Space("one", column)]).block(everyone, everyone) for column in columns]
    )
    given = SimilarityMatrices(
        tuple(np.where(both, blocks, np.nan)), covered
    )  # NaN where not covered: never looked at
    mean = np.where(both, blocks, 0.0).sum(axis=0) / np.maximum(both.sum(axis=0), 1)
    for queries, known in ((everyone, everyone), (some, others)):
        np.testing.assert_allclose(
            given.block(queries, known), mean[queries[:, None], known], atol=1e-12
        )
        np.testing.assert_allclose(
            ensemble.block(queries, known), mean[queries[:, None], known], atol=1e-12
        )


def test_the_null_knows_nothing() -> None:
    assert (ConstantSimilarity().block(ALL, ALL[:2]) == 1).all()


def test_refused() -> None:
    with pytest.raises(InputError, match="spaces: got none"):
        cosine_similarity([])
    with pytest.raises(InputError, match=r"columns: got an array of shape \(3,\)"):
        unit_vectors(np.ones(3))


def test_a_symbol_is_like_itself_whether_a_space_covers_it_or_not() -> None:
    space = Space("s", np.array([[1.0, 0.0], [1.0, 1.0], [np.nan, np.nan]]))
    own = OwnSimilarity(cosine_similarity([space]))
    half = np.sqrt(0.5)
    codes = np.arange(3)
    np.testing.assert_allclose(own.block(codes, codes), [[1, half, 0], [half, 1, 0], [0, 0, 1]])
    assert own.covers(codes).tolist() == [[True, True, False]]
