"""A table by gene symbol, searched by exact spelling first and then in any case; nothing is guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

V = TypeVar("V")


@dataclass(frozen=True, eq=False)
class Table(Generic[V]):
    """Entries by gene symbol. source: where they come from. present: False if the workspace lacks this source."""

    entries: Mapping[str, V]
    source: str
    present: bool = True

    def spellings(self, symbol: str) -> tuple[str, ...]:
        """The symbol itself if it is listed, else every listed spelling that differs in case only, sorted."""
        return (symbol,) if symbol in self.entries else self._by_casefold.get(symbol.casefold(), ())

    @cached_property
    def _by_casefold(self) -> Mapping[str, tuple[str, ...]]:
        spellings: dict[str, tuple[str, ...]] = {}
        for symbol in sorted(self.entries):
            spellings[symbol.casefold()] = (*spellings.get(symbol.casefold(), ()), symbol)
        return spellings
