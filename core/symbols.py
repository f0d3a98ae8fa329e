"""The kind of a gene symbol: a name, or a provisional identifier."""

from __future__ import annotations

import re
from typing import Literal

SymbolKind = Literal["named", "RIKEN clone", "gene model", "accession", "locus"]

# Source: the mouse nomenclature's provisional symbols, as in the published agents' gene_class tool, and Ensembl's numbers.
_PROVISIONAL: tuple[tuple[re.Pattern[str], SymbolKind], ...] = (
    (re.compile(r"Rik\d*$"), "RIKEN clone"),
    (re.compile(r"^Gm\d+$"), "gene model"),
    (re.compile(r"^LOC\d+"), "locus"),
    (re.compile(r"^(AW|BC|AI|AK|AA|AV)\d{5,}"), "accession"),
    (re.compile(r"^ENS[A-Z]*G\d{6,}"), "accession"),
    (re.compile(r"^\d"), "accession"),
)


def symbol_kind(symbol: str) -> SymbolKind:
    """Returns the kind of a symbol; every kind but "named" is provisional, so little is known of the gene."""
    return next((kind for pattern, kind in _PROVISIONAL if pattern.search(symbol)), "named")
