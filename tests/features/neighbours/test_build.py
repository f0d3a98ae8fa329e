from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from core.base.errors import InputError, MissingPackage, NotFound, Unreachable
from core.base.net.server_access import ServerAccess
from core.base.types import Label
from core.embeddings.space import Space
from core.features.neighbours.build import (
    build_coresponse,
    build_endpoint,
    build_network,
    build_response,
    build_sentences,
    build_text,
)
from core.llm.endpoint import Endpoint
from tests.llm import canned
from tests.llm.canned import Asked, Canned

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


Answer = Callable[[dict[str, Any]], tuple[int, Any]]
DESCRIBED = {"A": "one", "B": " ", "C": "three", "D": "fourth text"}


def serving(answer: Answer) -> AbstractContextManager[tuple[str, list[Asked]]]:
    """A loopback server under /v1 that answers so, and the requests that it gets."""

    def respond(asked: Asked) -> Canned:
        status, found = answer(asked.body)
        return Canned(found, status)

    return canned.serving(respond)


def embeddings(vectors: list[list[float]], order: list[int] | None = None) -> dict[str, Any]:
    indices = order if order is not None else list(range(len(vectors)))
    data = [
        {"object": "embedding", "index": i, "embedding": vectors[k]} for k, i in enumerate(indices)
    ]
    return {
        "object": "list",
        "data": data,
        "model": "m",
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }


def by_length(body: dict[str, Any]) -> tuple[int, Any]:
    """(number of characters, 1) for each text, given back last first."""
    vectors = [[float(len(text)), 1.0] for text in body["input"]]
    return 200, embeddings(vectors[::-1], list(range(len(vectors)))[::-1])


def built(
    url: str, *access: ServerAccess, retries: int = 0, texts: dict[str, str] = DESCRIBED
) -> Space:
    server = Endpoint(url, *access, retries=retries, timeout_s=60.0, backoff_s=0.01)
    return build_endpoint(texts, "e", server, "bge-m3")


def test_endpoint_gives_each_text_its_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.features.neighbours.build.CHARACTERS", 6)
    monkeypatch.setattr("core.features.neighbours.build.BATCH", 2)
    with serving(by_length) as (url, asked):
        space = built(url, ServerAccess.of(url, "sesame"))
    assert space.symbols == ("A", "C", "D")
    assert space.vectors.tolist() == [[3, 1], [5, 1], [6, 1]]
    assert [request.body["input"] for request in asked] == [["one", "three"], ["fourth"]]
    assert {(request.path, request.body["model"], request.key) for request in asked} == {
        ("/v1/embeddings", "bge-m3", "Bearer sesame")
    }
    assert space.notes == (
        "first 1,500 characters of each description",
        "1 descriptions without text left out",
    )
    assert space.source == "bge-m3 at 127.0.0.1 of 3 descriptions"
    assert "sesame" not in repr(space)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda _: (200, embeddings([[1.0]])), "1 vectors for 3 texts"),
        (
            lambda _: (200, embeddings([[1.0], [2.0], [3.0]], [0, 0, 1])),
            "3 vectors for 3 texts, of lengths",
        ),
        (
            lambda _: (200, embeddings([[1.0], [2.0, 3.0], [4.0]])),
            r"of lengths \[1, 2\]; expected one for each",
        ),
        (lambda _: (200, embeddings([[], [], []])), "shape"),
        (lambda _: (200, embeddings([])), "not a list of vectors|0 vectors for 3 texts"),
        (lambda _: (200, {}), "not a list of vectors"),
        (lambda _: (200, '"fine"'), "not a list of vectors"),
        (
            lambda _: (200, {"data": [{"index": None, "embedding": [1.0]}] * 3}),
            "3 vectors for 3 texts",
        ),
        (lambda _: (200, {"data": ["x", "y", "z"]}), "not a list of vectors"),
        (lambda _: (200, embeddings([["a"], ["b"], ["c"]])), "not a list of vectors"),  # type: ignore[list-item]
        (lambda _: (200, embeddings([[10**400], [2.0], [3.0]])), "not a list of vectors"),
    ],
)
def test_an_answer_that_does_not_fit_is_an_input_error(answer: Answer, message: str) -> None:
    with serving(answer) as (url, _), pytest.raises(InputError, match=message):
        built(url)


def test_batches_of_different_lengths_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.features.neighbours.build.BATCH", 2)

    def by_batch(body):
        return 200, embeddings([[1.0] * len(body["input"])] * len(body["input"]))

    with (
        serving(by_batch) as (url, _),
        pytest.raises(InputError, match=r"vectors of lengths \[1, 2\]"),
    ):
        built(url)


def test_a_server_that_refuses_or_is_not_there_is_unreachable() -> None:
    refused = pytest.raises(Unreachable, match=r"no such key.*expected embeddings of bge-m3")
    with serving(lambda _: (401, {"error": {"message": "no such key"}})) as (url, _), refused:
        built(url)
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1"):
        built(url)


def test_a_server_that_is_busy_is_asked_again() -> None:
    answers = iter(
        [
            (503, {"error": {"message": "loading"}}),
            by_length({"input": ["one", "three", "fourth text"]}),
        ]
    )
    with serving(lambda _: next(answers)) as (url, asked):
        space = built(url, retries=1)
    assert (len(asked), space.symbols) == (2, ("A", "C", "D"))


def test_a_key_that_a_server_repeats_is_not_shown() -> None:
    def refuses(_):
        return 401, {"error": {"message": "wrong key sesame-1"}}

    with serving(refuses) as (url, _), pytest.raises(Unreachable, match=r"wrong key \[key\]"):
        built(url, ServerAccess.of(url, "sesame-1"))


def test_no_text_at_all() -> None:
    with pytest.raises(InputError, match="all empty"):
        built("http://127.0.0.1:9/v1", texts={"A": " "})


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


def test_an_answer_is_cut_where_no_vectors_are_so_long() -> None:
    with (
        serving(lambda _: (200, {"data": "x" * (2 << 20)})) as (url, _),
        pytest.raises(Unreachable, match="more than 1,048,576"),
    ):
        built(url, texts={"A": "text"})
