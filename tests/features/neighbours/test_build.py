from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from core.base.errors import InputError, MissingPackage, NotFound
from core.base.types import Label
from core.features.neighbours.build import (
    build_coresponse,
    build_network,
    build_response,
    build_sentences,
    build_text,
)

TEXTS = {
    "A": "kinase signalling in the membrane",
    "B": "membrane kinase",
    "C": "ribosome biogenesis",
    "D": "the ribosome of the nucleus, nucleus",
    "E": "",
    "F": "unheard",
}


def test_text_keeps_the_cosines_of_tf_idf_when_no_column_is_cut() -> None:
    space = build_text(TEXTS, "t")
    # in two texts: kinase, membrane, ribosome ("nucleus" twice in one text is one text)
    assert space.columns == 3
    assert space.symbols == ("A", "B", "C", "D")
    assert space.notes == (
        "3 columns, fewer than the requested 200, by randomized SVD with seed 0",
        "2 zero vectors dropped: E, F",
    )
    matrix = TfidfVectorizer(
        sublinear_tf=True, vocabulary=["kinase", "membrane", "ribosome"]
    ).fit_transform(TEXTS.values())
    expected = (matrix @ matrix.T).toarray()[:4, :4]
    units = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(units @ units.T, expected, atol=1e-6)


def test_text_is_the_same_each_time_and_the_seed_counts() -> None:
    rng = np.random.default_rng(5)
    texts = {f"g{i}": " ".join(f"w{j}" for j in rng.integers(0, 400, 12)) for i in range(300)}
    first, again, other = (
        build_text(texts, "t", 20),
        build_text(texts, "t", 20),
        build_text(texts, "t", 20, seed=1),
    )
    assert first.vectors.shape == (300, 20)
    assert first.sha256 == again.sha256
    assert first.sha256 != other.sha256


@pytest.mark.parametrize(
    "texts", [{}, {"A": ""}, {"A": "one", "B": "two"}, {"A": "the of", "B": "the of"}]
)
def test_texts_without_a_common_word(texts: dict[str, str]) -> None:
    with pytest.raises(InputError, match="without a common word"):
        build_text(texts, "t")


def test_network_keeps_the_normalised_adjacency() -> None:
    edges = [("A", "B", 800), ("B", "A", 400), ("C", "B", 1000), ("A", "A", 900), ("D", "E", 500)]
    space = build_network(edges, "n")
    # of A–B the higher score counts, A–A gives way to the loop of 1
    adjacency = np.array(
        [
            [1, 0.8, 0, 0, 0],
            [0.8, 1, 1, 0, 0],
            [0, 1, 1, 0, 0],
            [0, 0, 0, 1, 0.5],
            [0, 0, 0, 0.5, 1],
        ]
    )
    degree = adjacency.sum(axis=1)
    normalised = adjacency / np.sqrt(np.outer(degree, degree))
    assert (space.symbols, space.columns, space.source) == (tuple("ABCDE"), 5, "network of 3 edges")
    # vectors are U·S, so their products are those of the rows of the normalised adjacency
    np.testing.assert_allclose(space.vectors @ space.vectors.T, normalised @ normalised, atol=1e-6)


def test_the_order_and_direction_of_edges_mean_nothing() -> None:
    edges = [(a, b, 100 + 7 * i) for i, (a, b) in enumerate(itertools.combinations("ABCDEFGH", 2))]
    turned = [(b, a, score) for a, b, score in reversed(edges)]
    np.testing.assert_allclose(
        build_network(edges, "n", 3).vectors, build_network(turned, "n", 3).vectors, atol=1e-6
    )


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([], "without edges"),
        ([("A", "A", 5)], "without edges"),
        ([("A", "B", 0)], "A–B has score 0"),
        ([("A", "B", 1001)], "1001"),
    ],
)
def test_a_network_that_is_none(edges: list[tuple[str, str, float]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build_network(edges, "n")


def test_columns_must_be_at_least_one() -> None:
    with pytest.raises(InputError, match="0 columns"):
        build_text(TEXTS, "t", columns=0)


def test_response() -> None:
    space = build_response({"A": (0.5, np.e - 1, 0.0), "B": (0.0, 0.0, 0.0)}, "lps")
    assert space.symbols == ("A",)
    np.testing.assert_allclose(
        space.vectors, [[0.46211716, 1, 0]], rtol=1e-6
    )  # tanh .5; log e; log 1
    with pytest.raises(InputError, match="below 0"):
        build_response({"A": (1.0, -0.1, 0.0)}, "lps")


PERT = ["p", "p", "p", "q", "q", "q", "q", "r", "r"]
GENE = ["A", "B", "C", "A", "B", "C", "C", "D", "A"]
LABELS = [
    Label.UP,
    Label.UP,
    Label.DOWN,
    Label.NONE,
    Label.DE,
    Label.UP,
    Label.DOWN,
    Label.NONE,
    None,
]


def test_coresponse_compares_labels() -> None:
    space = build_coresponse(PERT, GENE, LABELS, "co", built_from_labels="demo, all rows")
    # profiles over (p, q): A (1, 0), B (1, 1), C (−1, mean of 1 and −1 = 0), D zero → dropped
    assert space.symbols == ("A", "B", "C")
    assert space.built_from_labels == "demo, all rows"
    assert space.notes[1] == "1 zero vectors dropped: D"
    profiles = np.array([[1, 0], [1, 1], [-1, 0]])
    np.testing.assert_allclose(space.vectors @ space.vectors.T, profiles @ profiles.T, atol=1e-6)


def test_coresponse_of_perturbations() -> None:
    space = build_coresponse(PERT, GENE, LABELS, "co", built_from_labels="demo", of="pert")
    # profiles over (A, B, C): p (1, 1, −1), q (0, 1, 0), r only none → dropped
    assert space.symbols == ("p", "q")
    np.testing.assert_allclose(space.vectors @ space.vectors.T, [[3, 1], [1, 1]], atol=1e-6)


def test_coresponse_says_what_it_was_built_from() -> None:
    with pytest.raises(InputError, match="got no name for its labels"):
        build_coresponse(PERT, GENE, LABELS, "co", built_from_labels="")
    with pytest.raises(InputError, match="no labelled row"):
        build_coresponse(["p"], ["A"], [None], "co", built_from_labels="demo")


DESCRIBED = {"A": "one", "B": " ", "C": "three", "D": "fourth text"}


def test_no_text_at_all() -> None:
    with pytest.raises(InputError, match="all empty"):
        build_sentences({"A": " "}, "e")


def test_without_the_package_the_requirements_file_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingPackage, match=r"sentence_transformers.*requirements-models\.txt"):
        build_sentences(DESCRIBED, "m")


@pytest.mark.torch
class TestWithSentenceTransformers:
    """What needs sentence-transformers and the packaged MiniLM (requirements-models.txt)."""

    @pytest.fixture(autouse=True)
    def _package(self) -> None:
        pytest.importorskip("sentence_transformers", reason="needs requirements-models.txt")

    def test_minilm_offline(self) -> None:
        texts = {
            "A": "a kinase in the membrane",
            "B": "kinase of membranes",
            "C": "Paris in spring",
            "A2": "a kinase in the membrane",
        }
        space = build_sentences(texts, "minilm")
        assert space.vectors.shape == (4, 384)
        products = space.vectors @ space.vectors.T
        np.testing.assert_allclose(np.diag(products), 1, atol=1e-5)
        assert products[0, 1] > 0.6 > 0.3 > products[0, 2]
        assert products[0, 3] == pytest.approx(1, abs=1e-5)

    def test_a_model_that_is_not_here(self) -> None:
        with pytest.raises(NotFound, match="'no/such-model': not on this machine"):
            build_sentences({"A": "x"}, "m", model="no/such-model")
