"""Columns whose names say that they hold p-values, for which smaller is more; their logarithms are none."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = re.compile(r"[a-z]+|\d+")
_WHOLE: Final = {"p", "q", "pv", "qv", "fdr", "fwer", "padj", "adjp", "bonferroni", "pvalueadjusted"}
_PARTS: Final = ("pval", "qval", "padj", "adjp", "pvalue", "qvalue", "fdr", "fwer")
_LOGARITHM: Final = re.compile(r"log|^nlp|^mlp")
_COMPLEMENT: Final = re.compile(r"1\s*[-_]\s*p|one_?minus|inv")


def is_p_value_name(name: str) -> bool:
    """Whether a column's name says that it holds p-values, adjusted or not: p, pval, p_value, padj, P.Value, fdr, q."""
    folded = name.strip().lower()
    squeezed = "".join(_WORDS.findall(folded))
    if _LOGARITHM.search(squeezed) or _COMPLEMENT.search(folded):
        return False
    return squeezed in _WHOLE or any(part in squeezed for part in _PARTS)
