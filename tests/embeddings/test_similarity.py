from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.embeddings import Space, cosines, directions, make_space, mean_similarity, similarities
from core.errors import InputError


def space_of(name: str, **vectors: list[float]) -> Space:
    return make_space(name, vectors, np.array(list(vectors.values())), "here")


FLAT = space_of("flat", A=[1, 0], B=[1, 1], C=[-1, 0], D=[0, 2])
TALL = space_of("tall", A=[0, 3, 4], B=[0, 0, 5])


def test_cosines_by_hand() -> None:
    # A·B = 1/√2, A·C = −1 → 0, B·C = −1/√2 → 0
    found = similarities([FLAT], ["A", "B"], ["A", "B", "C"])
    np.testing.assert_allclose(found, [[1, 0.5**0.5, 0], [0.5**0.5, 1, 0]], atol=1e-7)


def test_the_ensemble_is_the_mean_over_the_spaces_that_cover_both() -> None:
    # flat: A·B = .7071; tall: A·B = 20/25 = .8; A·D only in flat; nothing covers X
    found = similarities([FLAT, TALL], ["A", "X"], ["B", "D", "X"])
    np.testing.assert_allclose(found[0, :2], [(0.5**0.5 + 0.8) / 2, 0], atol=1e-7)
    assert np.isnan(found[0, 2])
    assert np.isnan(found[1]).all()


def test_each_space_clips_before_the_mean() -> None:
    opposite = space_of("opposite", A=[1, 0], B=[-1, 0])
    same = space_of("same", A=[1, 0], B=[1, 0])
    assert similarities([opposite, same], ["A"], ["B"]).item() == 0.5


def test_centring_subtracts_the_mean_of_the_given_genes_before_lengths_are_taken() -> None:
    # mean of A (1, 0) and D (0, 2) is (.5, 1): A → (.5, −1), B → (.5, 0), D → (−.5, 1)
    found = similarities([FLAT], ["A"], ["A", "B", "D"], centre=["D", "A", "a", "X"])
    np.testing.assert_allclose(found, [[1, 0.5 / 1.25**0.5, 0]], atol=1e-6)


def test_what_centring_leaves_nothing_of_is_not_covered() -> None:
    alone = space_of("alone", A=[0.1, 0.7], B=[3, 4])
    assert np.isnan(similarities([alone], ["A"], ["A"], centre=["A"])).all()
    assert np.isnan(similarities([alone, FLAT], ["A"], ["B"], centre=["A", "C"])).sum() == 0
    constant = make_space("constant", "ABC", np.tile(np.array([[0.1, 0.2, 0.3]], dtype=np.float32), (3, 1)), "here")
    assert np.isnan(similarities([constant], list("ABC"), list("ABC"), centre=list("ABC"))).all()


def test_symbols_match_as_in_match() -> None:
    found = similarities([FLAT], ["a"], ["Mouse"], orthologs={"Mouse": "B"})
    assert found.item() == pytest.approx(0.5**0.5, abs=1e-7)


def test_nothing_to_centre_on_and_no_space() -> None:
    with pytest.raises(InputError, match="space 'flat' covers none of the 1 genes to centre on"):
        similarities([FLAT], ["A"], ["B"], centre=["X"])
    with pytest.raises(InputError, match="no space"):
        similarities([], ["A"], ["B"])


def test_vectors_of_any_length_count_alike() -> None:
    extreme = space_of("extreme", A=[1e30, 1e30], B=[1e-30, 1e-30], C=[3e38, 0])
    found = similarities([extreme], ["A", "B"], ["B", "C"])
    np.testing.assert_allclose(found, [[1, 0.5**0.5], [1, 0.5**0.5]], atol=1e-6)


def oracle(spaces: list[Space], rows: list[str], columns: list[str], centre: list[str] | None) -> NDArray[np.float64]:
    """The definition, pair by pair, in float64."""
    found = np.full((len(rows), len(columns)), np.nan)
    for i, a in enumerate(rows):
        for j, b in enumerate(columns):
            values = []
            for space in spaces:
                vector = dict(zip(space.symbols, space.vectors.astype(float), strict=True))
                if a in vector and b in vector:
                    known = [vector[g] for g in sorted(set(centre or [])) if g in vector]
                    mean = np.mean(known, axis=0) if known else 0.0
                    u, v = vector[a] - mean, vector[b] - mean
                    values.append(max(0.0, float(u @ v / np.linalg.norm(u) / np.linalg.norm(v))))
            if values:
                found[i, j] = np.mean(values)
    return found


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_against_the_definition_pair_by_pair(seed: int, centred: bool, square: bool) -> None:
    rng = np.random.default_rng(seed)
    genes = [f"g{i}" for i in range(12)]
    spaces = []
    for k, columns in enumerate((3, 40)):
        covered = ["g0", "g1", *rng.permutation(genes[2:])[:6].tolist()]
        spaces.append(make_space(f"s{k}", covered, rng.normal(size=(8, columns)) * 10.0 ** rng.integers(-5, 5), "here"))
    rows = rng.permutation(genes)[:7].tolist()
    columns_wanted = rows if square else rng.permutation(genes)[:9].tolist()
    centre = ["g0", "g1", *rows] if centred else None
    found = similarities(spaces, rows, columns_wanted, centre=centre)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, oracle(spaces, rows, columns_wanted, centre), atol=1e-6)
    parts = [(directions(s, rows, centre=centre), directions(s, columns_wanted, centre=centre)) for s in spaces]
    np.testing.assert_array_equal(np.isnan(mean_similarity(parts)), np.isnan(found))
    single = [cosines(*part) for part in parts]
    covering = sum((~np.isnan(s)).astype(int) for s in single)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(sum(np.nan_to_num(s) for s in single) / covering, found, atol=1e-6)
