"""Encoders of texts by name: a sentence encoder on this machine, or a server's embeddings, as for gene spaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np

from core.actions.workspace import Workspace
from core.embeddings import Endpoint, Space, build_endpoint, build_sentences
from core.errors import InputError
from core.stats.arrays import Floats

Embedding = Literal["tfidf", "minilm", "endpoint"]
_NAME = "texts"  # of a space that nobody keeps


def make_encoder(
    workspace: Workspace, embedding: str = "tfidf", endpoint: str = "", model: str = ""
) -> Callable[[Sequence[str]], Floats] | None:
    """Return a function from n texts to vectors of shape (n, columns); None for TF-IDF, which needs no encoder.

    Raise InputError for another name, and for an endpoint without its address and model. What it returns raises as
    `build_sentences` and `build_endpoint` do.
    """
    if embedding not in get_args(Embedding):
        raise InputError(f"embedding: got {embedding!r}, expected {', '.join(get_args(Embedding))}")
    if (embedding == "endpoint") != bool(endpoint and model):
        raise InputError(
            f"embedding {embedding}: endpoint is {endpoint!r} and model {model!r}; expected both with endpoint, else neither"
        )
    if embedding == "tfidf":
        return None
    if embedding == "minilm":
        return lambda texts: _vectors(build_sentences(_by_place(texts), _NAME), len(texts))
    workspace.refuse_if_read_only("endpoint", endpoint)
    server = Endpoint(endpoint, model, workspace.settings.server_access)
    return lambda texts: _vectors(build_endpoint(_by_place(texts), _NAME, server), len(texts))


def _by_place(texts: Sequence[str]) -> dict[str, str]:
    return {str(place): text for place, text in enumerate(texts)}


def _vectors(space: Space, n: int) -> Floats:
    """Return the vectors by place; 0 for a text that got none."""
    found = np.zeros((n, space.columns))
    found[[int(symbol) for symbol in space.symbols]] = space.vectors
    return found
