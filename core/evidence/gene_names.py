"""The names under which knowledge packs may list a gene of a dataset, also packs about genes of another organism."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, eq=False)
class GeneNames:
    """The names of genes, by a table of orthologs such as that of `Packs`: symbol of the packs → symbol in the other organism."""

    orthologs: Mapping[str, str] = field(default_factory=dict)

    def of(self, symbol: str) -> tuple[str, ...]:
        """The symbol itself, then the symbols whose ortholog it is, in any case, sorted: IFI16, Ifi203, Ifi209.

        Tools look up each of them in any case, so none differs from another in case only.
        """
        own = symbol.casefold()
        return (symbol, *(name for name in self._by_ortholog.get(own, ()) if name.casefold() != own))

    @cached_property
    def _by_ortholog(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for name in sorted(self.orthologs):
            ortholog = self.orthologs[name].casefold()
            found[ortholog] = (*found.get(ortholog, ()), name)
        return found
