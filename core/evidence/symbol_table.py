"""Entries by gene symbol, found as they are spelled, else whatever their case; never by guess."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

V = TypeVar("V")


@dataclass(frozen=True, eq=False)
class Table(Generic[V]):
    """source: where the entries come from. present: False where the workspace has no such source at all."""

    entries: Mapping[str, V]
    source: str
    present: bool = True

    def spellings(self, symbol: str) -> tuple[str, ...]:
        """The symbol itself where it is listed, else every spelling that differs in case only, in order of characters."""
        return (symbol,) if symbol in self.entries else self._folded.get(symbol.casefold(), ())

    @cached_property
    def _folded(self) -> Mapping[str, tuple[str, ...]]:
        folded: dict[str, tuple[str, ...]] = {}
        for symbol in sorted(self.entries):
            folded[symbol.casefold()] = (*folded.get(symbol.casefold(), ()), symbol)
        return folded
