"""Recognise columns of p-values or ranks by name. For them, smaller means stronger; also for
logarithms of p if none is above 0.
"""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = re.compile(r"[a-z]+|\d+")
_WHOLE: Final = {
    *(
        "p",
        "q",
        "pv",
        "qv",
        "fdr",
        "fwer",
        "padj",
        "adjp",
        "bonferroni",
        "pvalueadjusted",
        "lfsr",
        "svalue",
        "evalue",
    ),
}
# Probabilities of no effect: posterior_null, prob_no_effect, h0_probability.
_OF_NONE: Final = re.compile(
    r"(?:p|pp|prob|probability|posterior(?:prob(?:ability)?)?)(?:of)?(?:the)?(?:null|none|h0"
    r"|no(?:effect|change)|unchanged)"
    r"|(?:null|h0|no(?:effect|change)|unchanged)(?:p|prob|probability|posterior)"
)
_TEST: Final = re.compile(
    r"(?:wilcox(?:on)?|ranksums?|t_?test|welch|mann_?whitney|mwu?|ks|lrt|chi_?sq|anova|deseq2?"
    r"|edger|limma|mast|nominal|raw"
    r"|emp(?:irical)?|perm(?:utation)?|bonferroni|bh|holm|sidak|adj(?:usted)?)[ _.-]?[pq]"
)
_PARTS: Final = ("pval", "qval", "padj", "adjp", "pvalue", "qvalue", "fdr", "fwer")
_LOGARITHM: Final = re.compile(r"log|^nlp|^mlp")
# "log p" alone may be a log-probability, for which larger means stronger.
_LOG_P: Final = re.compile(
    r"log10[pq]$|log(?:2|10|e)?(?:pv|qv|pval\w*|qval\w*|padj\w*|adjp\w*|fdr)$"
)
_COMPLEMENT: Final = re.compile(r"1\s*[-_]\s*p|one_?minus|inv")

_NAME_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_RANKS: Final = {"rank", "ranks", "ranking", "rankings"}
# shares, scores and statistics of ranks, reversed ranks, and words that do not mean ranks
_NO_RANKS: Final = {
    *(
        "pct",
        "percent",
        "percentile",
        "percentage",
        "perc",
        "quantile",
        "norm",
        "normed",
        "normalized",
        "normalised",
        "scaled",
    ),
    *(
        "score",
        "scores",
        "scored",
        "stat",
        "statistic",
        "metric",
        "prob",
        "probability",
        "log",
        "auc",
        "mrr",
        "sum",
        "sums",
    ),
    *(
        "inv",
        "inverse",
        "inverted",
        "neg",
        "negative",
        "rev",
        "reverse",
        "reversed",
        "reciprocal",
        "desc",
        "descending",
        "minus",
    ),
    *(
        "cor",
        "corr",
        "correlation",
        "biserial",
        "spearman",
        "diff",
        "difference",
        "change",
        "delta",
        "page",
        "low",
        "full",
        "genes",
    ),
}


def is_p_value_name(name: str) -> bool:
    """Return whether a column is named like p-values, adjusted or not: p, pval, p_value, padj,
    P.Value, fdr, q."""
    folded = name.strip().lower()
    squeezed = "".join(_WORDS.findall(folded))
    if _LOGARITHM.search(squeezed) or _COMPLEMENT.search(folded):
        return False
    is_whole = squeezed in _WHOLE or any(
        pattern.fullmatch(text) for pattern, text in ((_OF_NONE, squeezed), (_TEST, folded))
    )
    return is_whole or any(part in squeezed for part in _PARTS)


def is_log_p_name(name: str) -> bool:
    """Return whether a column is named like logarithms of p-values, of either sign: log10p,
    neg_log10_pval, -log10(padj)."""
    squeezed = "".join(_WORDS.findall(name.strip().lower()))
    return _LOG_P.search(squeezed) is not None


def is_rank_name(name: str) -> bool:
    """Return whether a column is named like ranks, where 1 is the best: rank, ranking, rank_de,
    effect rank, deRank."""
    parts = {part.lower() for part in _NAME_PARTS.findall(name)}
    return bool(parts & _RANKS) and not parts & _NO_RANKS
