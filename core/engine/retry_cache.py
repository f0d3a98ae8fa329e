"""The response cache of a worker that asks again for replies that could not be used."""

from __future__ import annotations

from pathlib import Path

from core.llm.client import ReplyCache
from core.llm.messages import Reply


class RetryCache(ReplyCache):
    """The response cache, which lacks each of `rejected_keys` once, so that a reply that made its row fail is asked for again."""

    def __init__(self, path: Path, rejected_keys: set[str]) -> None:
        super().__init__(path)
        self._rejected_keys = set(rejected_keys)

    def get(self, key: str) -> Reply | None:
        if key in self._rejected_keys:
            self._rejected_keys.discard(key)
            return None
        return super().get(key)
