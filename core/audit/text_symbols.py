"""The gene symbols by which texts are searched."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Final

_WORDS_THAT_ARE_SYMBOLS: Final = frozenset(
    ["was", "set", "met", "rest", "large", "impact", "can", "not", "cat", "max", "had", "all", "mice", "fat"]
)


class Symbols:
    """Gene symbols by which texts are searched: as they are spelled, and in any case where a text writes them as symbols."""

    def __init__(self, symbols: Collection[str]) -> None:
        self._exact = frozenset(symbols)

    @cached_property
    def _folded(self) -> Mapping[str, str]:
        return {symbol.casefold(): symbol for symbol in sorted(self._exact, reverse=True)}

    def find(self, word: str, *, opens: bool) -> str:
        """Return the symbol that a word is, "" if it is none. opens: whether it opens a sentence, where all are capitalised."""
        if word in self._exact and not (opens and word.lower() in _WORDS_THAT_ARE_SYMBOLS):
            return word
        looks_like_one = len(word) > 2 and (word.isupper() or (word[:1].isupper() and any(map(str.isdigit, word))))
        return self._folded.get(word.casefold(), "") if looks_like_one else ""

    def spell(self, name: str) -> str:
        """Return a name as it is known, in any case; itself if it is not."""
        return name if name in self._exact else self._folded.get(name.casefold(), name)
