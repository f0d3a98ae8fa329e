"""Tell what names are that are no symbols, and what a matrix is of by the names of its rows and
columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from core.base.errors import InputError
from core.base.texts import list_some
from core.features.importing.perturbations import gene_of_condition
from core.features.importing.symbols import clean

DIMENSION: Final = re.compile(
    r"(?:d|dim|pc|pca|x|v|f|feature|emb|embedding|component|latent|z|factor|col)?[_ .-]?\d+", re.I
)
_OTHER_NAMES: Final = {
    "Ensembl gene identifiers": re.compile(r"ENS[A-Z]*G\d{6,}(?:\.\d+)?"),
    "Ensembl protein identifiers": re.compile(r"(?:\d+\.)?ENS[A-Z]*P\d{6,}(?:\.\d+)?"),
    "UniProt's accessions": re.compile(
        r"[OPQ]\d[A-Z0-9]{3}\d|[A-NR-Z]\d(?:[A-Z][A-Z0-9]{2}\d){1,2}"
    ),
    "identifiers of RefSeq": re.compile(r"[NX][MPR]_\d{6,}(?:\.\d+)?"),
    "identifiers of a database": re.compile(r"(?:HGNC|MGI|RGD|NCBIGene|ENTREZ|GeneID):?\d+", re.I),
    "probes of an array": re.compile(r"\d+(?:_[asx])?_at|ILMN_\d+"),
    "numbers (Entrez ids, perhaps)": re.compile(r"\d{2,}"),
    "dimensions": DIMENSION,
}
_CELL: Final = re.compile(
    r"(?:.*[_:#.-])?[ACGT]{10,}(?:[-_.]\w+)*|[ACGT]{3,}\d*-\d+|(?:cell|barcode)[_ .-]?\d+"
)
_SAMPLE: Final = re.compile(
    r"(?:GSM|SR[RXS]|ERR|SAMN)\d+|(?:.*[_"
    r" .-])?(?:sample|rep|replicate|donor|patient|ctrl|control)[_ .-]?\w{0,3}",
    re.I,
)
_GENE: Final = re.compile(
    r"[A-Z][A-Z0-9]+(?:-[A-Z0-9]+)?|[A-Z][a-z]+\d*[a-z]?\d*|C\d+orf\d+|\d{7}[A-Z]\d\dRik"
)
_LEAST_COLUMNS, _LEAST_GENES = 3, 8
_SHARE_OF_GENES, _SHARE_WITH_DIGITS = 0.8, 0.3
_LONG = (
    "write it with a row for each pair and the columns pert, gene and log2_fc (pandas: "
    'frame.rename_axis(index="{}", columns="{}").stack().reset_index(name="log2_fc")), which '
    "`cells predictions FILE --dataset D` reads"
)
_CELLS = (
    "write it as .h5ad with a row for each cell, which `cells describe` and `cells labels` read"
)


def kind_of_names(names: Sequence[str]) -> str:
    """Describe most of the names if they are not gene symbols; "" for symbols."""
    for kind, pattern in _OTHER_NAMES.items():
        if 2 * sum(pattern.fullmatch(name) is not None for name in names) > len(names):
            return kind
    return ""


def refuse_matrix(rows: Sequence[str], columns: Sequence[str], source: str) -> None:
    """Raise InputError for a matrix of effects, of counts or of expression; vectors of genes pass.

    rows, columns: their names. The error says what the matrix is, and the way to import it.
    """
    kind, way = _kind_and_way([*map(clean, rows)], [name for name in map(clean, columns) if name])
    if kind:
        raise InputError(
            f"{source}: a matrix of {kind} (rows {list_some(list(rows), 3)}; columns"
            f" {list_some(list(columns), 3)}), no gene space: {way}. To take its rows as vectors of"
            " genes, name its columns d0, d1, …"
        )


def refuse_counts(columns: Sequence[str], source: str) -> None:
    """Raise InputError for whole numbers that stand in columns like these, unless they are
    dimensions."""
    if not _most(DIMENSION, columns):
        raise InputError(
            f"{source}: whole numbers in columns {list_some(list(columns), 3)}: a matrix of counts,"
            f" no gene space: {_CELLS}. To take its rows as vectors of genes, name its columns d0,"
            " d1, …"
        )


def _kind_and_way(rows: list[str], columns: list[str]) -> tuple[str, str]:
    """Return what a matrix is of, and how to import it; "" for vectors of genes and for other
    tables."""
    if len(columns) < _LEAST_COLUMNS or _most(DIMENSION, columns):
        return "", ""
    for pattern, what in ((_CELL, "cells"), (_SAMPLE, "samples")):
        if _most(pattern, columns):
            return f"genes by {what}", _CELLS
        if _most(pattern, rows):
            return f"{what} by genes", _CELLS
    down, across = ({gene_of_condition(name) for name in names} - {""} for names in (rows, columns))
    shared = len(down & across)
    if shared > 1 and down == across:
        return "genes by genes", _LONG.format("pert", "gene")
    if shared > 1 and 2 * shared >= len(down):
        return "perturbations by genes", _LONG.format("pert", "gene")
    if shared > 1 and 2 * shared >= len(across):
        return "genes by perturbations", _LONG.format("gene", "pert")
    if _are_genes(columns):
        return "perturbations or genes by genes", _LONG.format("pert", "gene")
    return "", ""


def _most(pattern: re.Pattern[str], names: Sequence[str]) -> bool:
    return 2 * sum(pattern.fullmatch(name) is not None for name in names) > len(names)


def _are_genes(names: Sequence[str]) -> bool:
    """Return whether names look like gene symbols: not numbered alike, and some with digits."""
    stems = {re.sub(r"\d+", "", name) for name in names}
    symbols = [name for name in names if _GENE.fullmatch(name)]
    numbered = sum(any(map(str.isdigit, name)) for name in symbols)
    return (
        len(names) >= _LEAST_GENES
        and 2 * len(stems) > len(names)
        and len(symbols) >= _SHARE_OF_GENES * len(names)
        and numbered >= _SHARE_WITH_DIGITS * len(names)
    )


_WORDS: Final = re.compile(r"[a-z]+|\d+")
_WHOLE: Final = frozenset(
    [
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
    ]
)
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
_NO_RANKS: Final = frozenset(
    [
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
    ]
)


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
