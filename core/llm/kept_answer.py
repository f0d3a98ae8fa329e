"""The part of a raw answer that is stored with a row's calls; the reply cache has all of it,
compressed.

Also counts the tokens of a text: by the server, by tiktoken, or as an upper bound.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from core.base.config import tiktoken_folder
from core.base.net.retry import Fault
from core.base.net.transport import read_aside
from core.base.texts import parse_json
from core.llm.client import Client
from core.llm.completion import read_token_count

# Where tiktoken takes its tables from, and the encodings that share the table of another.
_TABLES = "https://openaipublic.blob.core.windows.net/encodings"
_TABLE_OF = {"o200k_harmony": "o200k_base", "p50k_edit": "p50k_base"}


@dataclass(frozen=True, slots=True)
class TokenCount:
    """The number of tokens of a text, without a chat template.

    counted_by: "server", the model's own tokenizer; "tiktoken", that package's tokenizer for this
    model; "bytes", an upper bound, since a byte-level tokenizer never makes more tokens than bytes.
    """

    tokens: int
    counted_by: Literal["server", "tiktoken", "bytes"]

    @property
    def words(self) -> str:
        """The count, as in "5,000 tokens (counted by server)"."""
        who = (
            "an upper bound: nobody counted them"
            if self.counted_by == "bytes"
            else f"counted by {self.counted_by}"
        )
        return f"{self.tokens:,} tokens ({who})"


class TokenCounter:
    """Counts tokens for one model; a server that cannot count is asked once."""

    def __init__(self, client: Client, model: str) -> None:
        self.client, self.model = client, model
        self._server_counts = True

    async def count(self, text: str) -> TokenCount:
        """Return the count of the server's /tokenize (in vLLM, beside /v1), otherwise tiktoken's if
        it knows the model, otherwise the bound.
        """
        if self._server_counts:
            count = await self._request_count(text)
            if count is not None:
                return TokenCount(count, "server")
        count = count_with_tiktoken(self.model, text)
        return (
            TokenCount(len(text.encode()), "bytes")
            if count is None
            else TokenCount(count, "tiktoken")
        )

    async def _request_count(self, text: str) -> int | None:
        """Return the server's count; None if it gives none."""
        body = {"model": self.model, "prompt": text, "add_special_tokens": False}
        response = await self.client.fetch(
            "POST", "/tokenize", json.dumps(body, ensure_ascii=False), beside=True
        )
        if isinstance(response, Fault):
            # a server that does not offer it is not asked again
            self._server_counts = response.retryable
            return None
        try:
            answer = parse_json(response)
        except ValueError:
            return None
        return read_token_count(answer.get("count")) if isinstance(answer, Mapping) else None


LONG_CHARACTERS = 1 << 16  # an answer of this length or less is kept as it came
MOST_CHARACTERS = 1 << 20  # a longer answer is cut when it is saved, and is then no longer JSON
NOTE = "left out here"


def kept_answer(raw: str) -> str:
    """Return the stored form of a raw answer: a long one without the log-probabilities of its
    tokens, with a remark in front.

    What a method reads from them is in the row's trace by then. Those of one token with twenty
    alternatives are 2 KB: a run's rows would take gigabytes that nobody reads.
    """
    if len(raw) <= LONG_CHARACTERS:
        return raw
    text = _without_logprobs(raw)
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}… ({len(text) - MOST_CHARACTERS:,} more characters {NOTE})"


async def keep_answer(raw: str) -> str:
    """Return `kept_answer`, made in a thread where the text is long, so that other rows have their
    turn."""
    return await read_aside(kept_answer, raw)


def _without_logprobs(raw: str) -> str:
    try:
        body = parse_json(raw)
    except ValueError:
        return raw
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(choices, list):
        return raw
    kept = [
        {**each, "logprobs": None} if isinstance(each, Mapping) and each.get("logprobs") else each
        for each in choices
    ]
    if kept == choices:
        return raw
    shorter = {**body, "choices": kept}
    text = json.dumps(shorter)
    return json.dumps({NOTE: f"log-probabilities, {len(raw) - len(text):,} characters"} | shorter)


def count_with_tiktoken(model: str, text: str) -> int | None:
    """Return the number of tokens; None if tiktoken is missing, does not know the model, or has no
    local table for it."""
    try:
        tiktoken = importlib.import_module("tiktoken")
        encoding = tiktoken.encoding_name_for_model(model.rpartition("/")[2])
    except (ImportError, KeyError):
        return None
    # tiktoken would download a missing table without a time limit, even if the run may not use the
    # network.
    return (
        len(tiktoken.get_encoding(encoding).encode_ordinary(text)) if has_table(encoding) else None
    )


def has_table(encoding: str) -> bool:
    """Return whether tiktoken has the table of an encoding on this machine, under the hash of its
    address."""
    address = f"{_TABLES}/{_TABLE_OF.get(encoding, encoding)}.tiktoken"
    return (tiktoken_folder() / hashlib.sha1(address.encode()).hexdigest()).is_file()
