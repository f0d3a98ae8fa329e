"""The part of a raw answer that is stored with a row's calls; the reply cache has all of it,
compressed.

Also counts the tokens of a text: by the server, by tiktoken, or as an upper bound.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal

from core.base.config import tiktoken_folder
from core.base.net.response_cache import SqliteCache
from core.base.net.retry import Fault
from core.base.texts import parse_json
from core.llm.client import Client
from core.llm.completion import AnswerFault, fault_of_ending, read_answer, read_token_count
from core.llm.messages import Reply, Usage

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


_SCHEMA = """
CREATE TABLE IF NOT EXISTS reply (
    key TEXT PRIMARY KEY,
    request BLOB NOT NULL,  -- JSON, compressed, as is raw
    raw BLOB NOT NULL,
    usage TEXT NOT NULL,
    kept_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) WITHOUT ROWID
"""


class ReplyCache(SqliteCache):
    """Replies by the key of their request, on disk, so that a repeated benchmark costs nothing; the
    file may be deleted."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, [_SCHEMA], "replies are not kept")

    def get(self, key: str) -> Reply | None:
        """Return the reply stored under this key, marked as cached; None if there is none, or if it
        cannot be read."""
        row = self.run(
            lambda db: db.execute(
                "SELECT request, raw, usage FROM reply WHERE key = ?", (key,)
            ).fetchone()
        )
        return None if row is None else self.read_entry("a reply", lambda: _reply(*row))

    def put(self, key: str, reply: Reply) -> None:
        """Store a reply, instead of an older one."""
        row = (key, _compress(reply.request), _compress(reply.raw), json.dumps(asdict(reply.usage)))
        self.run(
            lambda db: db.execute(
                "INSERT OR REPLACE INTO reply (key, request, raw, usage) VALUES (?, ?, ?, ?)", row
            )
        )


def _compress(text: str) -> bytes:
    # log-probabilities shrink to a tenth; higher levels take longer than the call
    return zlib.compress(text.encode(), 1)


def _reply(request: bytes, raw: bytes, usage: str) -> Reply:
    """Return the reply of a stored row. Raise ValueError if the raw answer has no content, or
    perhaps only a part of it."""
    request_text, raw_text = (zlib.decompress(part).decode() for part in (request, raw))
    answer = read_answer(raw_text)
    fault = answer if isinstance(answer, AnswerFault) else fault_of_ending(answer)
    if fault is not None:
        raise ValueError(fault.message)
    if isinstance(answer, AnswerFault) or answer.content is None:
        raise ValueError("no content")
    names = {each.name for each in fields(Usage)}  # earlier versions stored more
    first_usage = Usage(
        **{name: value for name, value in json.loads(usage).items() if name in names}
    )
    return Reply(
        answer.content,
        answer.reasoning,
        answer.finish_reason,
        first_usage,
        answer.logprobs if json.loads(request_text).get("logprobs") else None,
        request_text,
        raw_text,
        cached=True,
        model=answer.model,
    )
