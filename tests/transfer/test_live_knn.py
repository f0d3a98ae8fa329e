from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.transfer import protocols as module
from core.transfer.knn import Similarities, Weighting, knn_priors
from core.transfer.prior_provenance import explain_prior
from core.transfer.protocols import (
    MAX_MATRICES,
    EvaluationProtocol,
    SimilaritySettings,
    live_knn,
    predict_priors,
)
from core.transfer.row_index import knowledge_of, rows_of
from core.transfer.similarity import ConstantSimilarity, Space, cosine_similarity
from tests.strength import examples
from tests.transfer.oracles import SETTINGS, assert_close

N, SYMBOLS = 120, 30
RNG = np.random.default_rng(3)
ROWS = rows_of(RNG.integers(0, SYMBOLS, N), RNG.integers(0, SYMBOLS, N))
KNOWN = knowledge_of(RNG.choice(np.array(["up", "down", "none", None], dtype=object), N), ROWS)
TEST_ROWS = rows_of(RNG.integers(SYMBOLS, SYMBOLS + 4, 9), RNG.integers(SYMBOLS, SYMBOLS + 4, 9))


def space(name: str, columns: int, missing: float = 0.2) -> Space:
    vectors = RNG.normal(size=(SYMBOLS + 4, columns))
    return Space(name, np.where(RNG.random((SYMBOLS + 4, 1)) < missing, np.nan, vectors))


SPACES = [space("a", 5), space("b", 2), space("c", 8, 0.5)]


CHOICES = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3, unique=True)


@examples(40)
@given(
    st.sampled_from(["loo", "folds", "test"]),
    st.lists(st.tuples(CHOICES, SETTINGS), min_size=1, max_size=4),
)
def test_priors_are_those_of_the_protocol_whatever_was_asked_before(
    kind: str, asked: list[tuple[list[str], SimilaritySettings]]
) -> None:
    protocol = EvaluationProtocol(kind, 3, 2)  # type: ignore[arg-type]
    queries = TEST_ROWS if kind == "test" else KNOWN.rows
    near = live_knn(protocol, queries, KNOWN, SPACES)
    for names, similarity in asked:
        chosen = [each for each in SPACES if each.name in names]
        expected = predict_priors(protocol, queries, KNOWN, chosen, similarity)
        assert_close(near.priors(names, similarity), expected.priors)
        assert_close(near.null(similarity), expected.null)


@given(st.integers(0, 8), CHOICES, SETTINGS, st.lists(st.integers(0, len(KNOWN) - 1), max_size=5))
def test_a_rows_neighbours_are_those_of_its_prior(
    row: int, names: list[str], similarity: SimilaritySettings, out: list[int]
) -> None:
    near = live_knn(EvaluationProtocol("test"), TEST_ROWS, KNOWN, SPACES)
    chosen = [each for each in SPACES if each.name in names]
    ensemble = cosine_similarity(chosen, np.unique(KNOWN.rows.gene) if similarity.centre else None)
    codes = int(TEST_ROWS.pert[row]), int(TEST_ROWS.gene[row])
    left_out = np.array(out, dtype=np.intp)
    expected = explain_prior(
        codes, KNOWN, Similarities(ensemble, ensemble), similarity.weighting, None, left_out
    )
    found = near.explain(row, names, similarity, left_out)
    assert sorted(found.neighbours) == sorted(expected.neighbours)
    np.testing.assert_allclose(found.similarity, expected.similarity, atol=1e-9)
    assert (found.prior_de, found.prior_up) == pytest.approx(
        (expected.prior_de, expected.prior_up), abs=1e-9, nan_ok=True
    )


def test_similarity_in_each_space() -> None:
    first, second = np.random.default_rng(0).random((2, 3, 4))
    second[1] = np.nan
    rows = rows_of([0, 1, 2], [0, 1, 2])
    near = live_knn(
        EvaluationProtocol("test"),
        rows,
        knowledge_of(["up"] * 3, rows),
        [Space("a", first), Space("b", second)],
    )
    found = near.similarity_by_space(0, np.array([1, 2]), ["a", "b"], SimilaritySettings())
    cosines = [
        first[0] @ first[i] / np.linalg.norm(first[0]) / np.linalg.norm(first[i]) for i in (1, 2)
    ]
    np.testing.assert_allclose(found[0], cosines)
    np.testing.assert_array_equal(np.isnan(found[1]), [True, False])


def test_a_null_needs_no_space() -> None:
    near = live_knn(EvaluationProtocol("loo"), KNOWN.rows, KNOWN, [])
    assert_close(
        near.null(SimilaritySettings()),
        knn_priors(KNOWN.rows, KNOWN, Similarities(ConstantSimilarity()), parts=near.parts),
    )
    with pytest.raises(InputError, match="spaces: got none"):
        near.priors([], SimilaritySettings())


def test_cosines_are_kept_shared_and_the_oldest_goes() -> None:
    spaces = [space(str(i), 2) for i in range(MAX_MATRICES + 2)]
    kept = {}

    def near(protocol):
        return live_knn(protocol, KNOWN.rows, KNOWN, spaces, cosines=kept)

    near(EvaluationProtocol("loo")).priors(["0"], SimilaritySettings())
    first = kept["0", False]
    near(EvaluationProtocol("folds", 3)).priors(
        ["0"], SimilaritySettings(Weighting(power=3.0))
    )  # another protocol, the same cosines
    assert list(kept) == [("0", False)]
    assert kept["0", False] is first
    near(EvaluationProtocol("loo")).priors(["0"], SimilaritySettings(centre=True))
    assert list(kept) == [("0", False), ("0", True)]
    for each in spaces[1:]:
        near(EvaluationProtocol("loo")).priors([each.name], SimilaritySettings())
    assert len(kept) == MAX_MATRICES
    assert ("0", False) not in kept
    expected = predict_priors(EvaluationProtocol("loo"), KNOWN.rows, KNOWN, spaces[:1]).priors
    assert_close(near(EvaluationProtocol("loo")).priors(["0"], SimilaritySettings()), expected)


def test_more_symbols_than_fit_are_worked_out_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SYMBOLS", SYMBOLS)
    near = live_knn(EvaluationProtocol("loo"), KNOWN.rows, KNOWN, SPACES)
    similarity = SimilaritySettings(Weighting(k=5), centre=True)
    assert_close(
        near.priors(["a", "c"], similarity),
        predict_priors(
            EvaluationProtocol("loo"), KNOWN.rows, KNOWN, [SPACES[0], SPACES[2]], similarity
        ).priors,
    )
    assert near.cosines == {}


@pytest.mark.parametrize("evaluated", ["", "bmdm"])
def test_a_space_from_the_labels_is_refused_even_where_it_could_be_rebuilt(evaluated: str) -> None:
    leaky = Space("leaky", SPACES[0].columns, "bmdm", lambda _: SPACES[0].columns)
    with pytest.raises(
        InputError, match=r"space leaky: built from the labels of bmdm.*cannot be changed live"
    ):
        live_knn(EvaluationProtocol(), KNOWN.rows, KNOWN, [SPACES[1], leaky], evaluated)
    near = live_knn(EvaluationProtocol(), KNOWN.rows, KNOWN, [leaky], "other labels")
    assert near.priors(["leaky"], SimilaritySettings()).covered.any()
