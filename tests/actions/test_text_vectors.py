"""Encoders of texts by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.actions.text_vectors import make_encoder
from core.actions.workspace import Workspace
from core.errors import InputError
from tests.embeddings.test_encoders import embeddings, serving


def test_a_servers_vectors_stand_at_their_texts(workspace: Workspace) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        return 200, embeddings([[float(len(text)), 1.0] for text in body["input"]])

    with serving(answer) as (url, _):
        encode = make_encoder(workspace, "endpoint", url, "bge-m3")
        assert encode is not None
        found = encode(["one", "", "three"])
    assert np.array_equal(found, [[3.0, 1.0], [0.0, 0.0], [5.0, 1.0]])  # an empty text is not sent and gets no vector


def test_an_encoder_is_known_by_its_name(workspace: Workspace) -> None:
    assert make_encoder(workspace) is None
    assert make_encoder(workspace, "minilm") is not None
    with pytest.raises(InputError, match="expected tfidf, minilm, endpoint"):
        make_encoder(workspace, "word2vec")
    for wrong in (("endpoint", "http://127.0.0.1:1/v1", ""), ("tfidf", "http://127.0.0.1:1/v1", "m")):
        with pytest.raises(InputError, match="expected both with endpoint, else neither"):
            make_encoder(workspace, *wrong)
