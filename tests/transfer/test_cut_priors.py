from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.transfer import cut_priors
from core.transfer.cut_priors import SEEDS, prepare_cuts
from core.transfer.knn import Weighting
from core.transfer.protocols import (
    EvaluationProtocol,
    KnnInputs,
    SimilaritySettings,
    cells_of,
    parts_of,
    predict_priors,
)
from core.transfer.row_index import knowledge_of, rows_of
from core.transfer.similarity import Cosines, Space
from tests.strength import examples
from tests.transfer.oracles import SETTINGS, assert_close

N, SYMBOLS = 150, 24
RNG = np.random.default_rng(5)
ROWS = rows_of(RNG.integers(0, SYMBOLS, N), RNG.integers(0, SYMBOLS, N))
LABELS = RNG.choice(np.array(["up", "down", "none", "de", None], dtype=object), N)
KNOWN = knowledge_of(LABELS, ROWS)


def space(name: str, columns: int, missing: float) -> Space:
    return Space(
        name,
        np.where(RNG.random((SYMBOLS, 1)) < missing, np.nan, RNG.normal(size=(SYMBOLS, columns))),
    )


SPACES = (space("a", 5, 0.2), space("b", 3, 0.4))


def columns_from(rows: np.ndarray) -> np.ndarray:
    """Vectors that depend on which labelled rows they may be made from."""
    rate = np.bincount(KNOWN.rows.gene[rows], KNOWN.flags[rows, 1], SYMBOLS)
    return np.stack((np.cos(rate), np.sin(rate)), axis=1)


LEAKY = Space("leaky", columns_from(np.ones(len(KNOWN), dtype=bool)), "these labels", columns_from)


@examples(40)
@given(SETTINGS, st.sampled_from([SPACES, SPACES[:1], (LEAKY, SPACES[0])]), st.integers(2, 4))
def test_each_cut_is_the_protocol_of_its_seed(
    similarity: SimilaritySettings, spaces: tuple[Space, ...], k: int
) -> None:
    knn = KnnInputs(ROWS, KNOWN, spaces, similarity, "these labels")
    for cut in prepare_cuts(knn, k, seeds=(0, 7)):
        protocol = EvaluationProtocol("folds", k, cut.seed)
        expected = predict_priors(protocol, ROWS, KNOWN, spaces, similarity, "these labels")
        [found] = cut.predict([None])
        assert_close(found, expected.priors)
        for name in ("de", "up"):
            np.testing.assert_array_equal(
                getattr(cut.base_rates, name), getattr(expected.null, name)
            )
        np.testing.assert_array_equal(
            cut.cells, cells_of(protocol, ROWS, parts_of(protocol, ROWS, KNOWN.rows))
        )


@examples(30)
@given(SETTINGS, st.integers(0, 2**32))
def test_permuted_priors_are_those_of_a_space_whose_vectors_were_exchanged(
    similarity: SimilaritySettings, seed: int
) -> None:
    """One space, and every symbol on both axes, so that the vectors of its rows are exchanged in one way."""
    rows = rows_of(np.r_[ROWS.pert, np.arange(SYMBOLS)], np.r_[ROWS.gene, np.arange(SYMBOLS)])
    known = knowledge_of(np.r_[LABELS, np.full(SYMBOLS, "none", dtype=object)], rows)
    keys = np.random.default_rng(seed).random(SYMBOLS)
    covered = np.flatnonzero(~np.isnan(SPACES[0].columns[:, 0]))
    exchanged = SPACES[0].columns.copy()
    exchanged[covered] = SPACES[0].columns[covered[np.argsort(keys[covered])]]
    for cut in prepare_cuts(KnnInputs(rows, known, SPACES[:1], similarity), 3, seeds=(2,)):
        _, found, again = cut.predict([None, keys, keys])
        assert_close(
            found,
            predict_priors(
                EvaluationProtocol("folds", 3, 2), rows, known, [Space("x", exchanged)], similarity
            ).priors,
        )
        assert_close(again, found)


@examples(20)
@given(SETTINGS, st.integers(0, 2**32))
def test_both_ways_to_permuted_priors_agree(similarity: SimilaritySettings, seed: int) -> None:
    """By sums of counts, and by a similarity whose symbols are exchanged; several spaces keep their coverage."""
    knn, keys = (
        KnnInputs(ROWS, KNOWN, SPACES, similarity),
        np.random.default_rng(seed).random(SYMBOLS),
    )
    with pytest.MonkeyPatch.context() as patch:
        found = [list(cut.predict([keys])) for cut in prepare_cuts(knn, 3, seeds=(0, 1))]
        patch.setattr(cut_priors, "MAX_SYMBOLS", 0)
        for mine, cut in zip(found, prepare_cuts(knn, 3, seeds=(0, 1)), strict=True):
            assert_close(mine[0], next(iter(cut.predict([keys]))))


@pytest.mark.parametrize(
    "weighting",
    [Weighting(), Weighting(axis="pert"), Weighting(k=3), Weighting(axis="both")],
    ids=str,
)
def test_similarities_are_computed_once_for_all_cuts(
    weighting: Weighting, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    block = Cosines.block
    monkeypatch.setattr(
        Cosines, "block", lambda self, *codes: asked.append(codes) or block(self, *codes)
    )
    cuts = list(prepare_cuts(KnnInputs(ROWS, KNOWN, SPACES[:1], SimilaritySettings(weighting))))
    assert [cut.seed for cut in cuts] == list(SEEDS)
    for cut in cuts:
        list(cut.predict([None]))
    assert len(asked) == 1


def test_a_space_from_these_labels_that_cannot_be_rebuilt_is_refused() -> None:
    leaky = Space("leaky", LEAKY.columns, "these labels")
    with pytest.raises(InputError, match="space leaky: built from the labels of these labels"):
        next(prepare_cuts(KnnInputs(ROWS, KNOWN, (leaky,), SimilaritySettings(), "these labels")))
