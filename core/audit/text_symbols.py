"""The gene symbols to search for in texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Final

_WORDS_THAT_ARE_SYMBOLS: Final = frozenset(
    ["was", "set", "met", "rest", "large", "impact", "can", "not", "cat", "max", "had", "all", "mice", "fat"]
)


class Symbols:
    """Gene symbols to search for in texts: as spelled, and in any case if the text writes them like symbols."""

    def __init__(self, symbols: Collection[str]) -> None:
        self._exact = frozenset(symbols)

    @cached_property
    def _folded(self) -> Mapping[str, str]:
        return {symbol.casefold(): symbol for symbol in sorted(self._exact, reverse=True)}

    def find(self, word: str, *, opens: bool) -> str:
        """Return the symbol for a word, "" if it is not a symbol. opens: whether the word starts a sentence, and so is
        capitalised.
        """
        if word in self._exact and not (opens and word.lower() in _WORDS_THAT_ARE_SYMBOLS):
            return word
        looks_like_one = len(word) > 2 and (word.isupper() or (word[:1].isupper() and any(map(str.isdigit, word))))
        return self._folded.get(word.casefold(), "") if looks_like_one else ""

    def spell(self, name: str) -> str:
        """Return the known spelling of a name, ignoring case; the name itself if it is unknown."""
        return name if name in self._exact else self._folded.get(name.casefold(), name)
