"""Short texts that every room reads and writes: gene symbols, numbers and estimates, and text that can be encoded."""

from __future__ import annotations

import math
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


def number_text(value: float, form: str = ".3f") -> str:
    """Returns a number with a real minus sign; an en dash if it is NaN."""
    return "–" if math.isnan(value) else f"{value:{form}}".replace("-", "−")


def estimate_text(estimate: float, low: float, high: float, form: str = ".3f") -> str:
    """Returns an estimate with its interval, "0.621 [0.604, 0.638]" or "0.621 [no interval]"; an en dash if it is NaN."""
    if math.isnan(estimate):
        return number_text(estimate, form)
    if math.isnan(low) or math.isnan(high):
        return f"{number_text(estimate, form)} [no interval]"
    return f"{number_text(estimate, form)} [{number_text(low, form)}, {number_text(high, form)}]"


def replace_surrogates(text: str) -> str:
    """Returns the text with � for each unpaired surrogate, which can be neither sent nor written to a file."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
