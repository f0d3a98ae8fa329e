"""How many tokens a text has, and who says so."""

from __future__ import annotations

import contextlib
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from core.llm.answers import read_json
from core.llm.client import Client
from core.net.transport import Fault


@dataclass(frozen=True, slots=True)
class TokenCount:
    """The tokens of a text alone, without a chat template.

    counted_by: "server", the model's own tokenizer; "tiktoken", that package's for this model; "bytes", an upper bound: a
    byte-level tokenizer never makes more tokens than bytes.
    """

    tokens: int
    counted_by: Literal["server", "tiktoken", "bytes"]


class TokenCounter:
    """Counts tokens for one model; finds out once which way there is."""

    def __init__(self, client: Client, model: str) -> None:
        self.client, self.model = client, model
        self._server_counts = True

    async def count(self, text: str) -> TokenCount:
        """By the server's /tokenize (vLLM has it beside /v1), else by tiktoken where it knows the model, else the bound."""
        if self._server_counts:
            found = await self._ask(text)
            if found is not None:
                return TokenCount(found, "server")
        known = by_tiktoken(self.model, text)
        return TokenCount(len(text.encode()), "bytes") if known is None else TokenCount(known, "tiktoken")

    async def _ask(self, text: str) -> int | None:
        url = f"{self.client.endpoint.base_url.rstrip('/').removesuffix('/v1')}/tokenize"
        body = {"model": self.model, "prompt": text, "add_special_tokens": False}
        found = await self.client.fetch("POST", url, json.dumps(body, ensure_ascii=False))
        if isinstance(found, Fault):
            self._server_counts = found.retryable  # a server that does not offer it is not asked again
            return None
        try:
            answer = read_json(found)
        except ValueError:
            return None
        count = answer.get("count") if isinstance(answer, Mapping) else None
        return count if isinstance(count, int) else None


def _no_download(address: str) -> bytes:
    """Stands in for tiktoken's download, for which it would wait without end, also in a run that is to ask nobody."""
    raise OSError(f"{address}: not on this machine")


def by_tiktoken(model: str, text: str) -> int | None:
    """None where the package is not installed, does not know the model, or has no table of it on this machine."""
    try:
        tiktoken = importlib.import_module("tiktoken")
    except ImportError:
        return None
    with contextlib.suppress(ImportError):
        setattr(importlib.import_module("tiktoken.load"), "read_file", _no_download)  # noqa: B010 - no attribute that mypy knows
    try:
        encoding = tiktoken.encoding_for_model(model.rpartition("/")[2])
    except (KeyError, OSError):
        return None
    return len(encoding.encode_ordinary(text))
