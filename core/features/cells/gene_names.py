"""Choose the names of a file's genes: the index of var, or the column with the perturbed
symbols."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pandas as pd

from core.base.errors import InputError
from core.base.texts import list_some
from core.features.cells.columns import texts
from core.features.importing.symbols import is_missing

ENSEMBL: Final = re.compile(r"(ENS[A-Z]*G\d{6,})(?:\.\d+)?")
# Columns that name genes; any other column of texts counts only if it is given.
_NAMES: Final = (
    *(
        "gene_name",
        "gene_names",
        "gene_symbol",
        "gene_symbols",
        "symbol",
        "symbols",
        "feature_name",
        "gene_short_name",
    ),
    *(
        "name",
        "hgnc_symbol",
        "gene",
        "genes",
        "gene_id",
        "gene_ids",
        "ensembl_id",
        "ensembl",
        "ensembl_gene_id",
        "feature_id",
    ),
)
# Columns of Entrez numbers, which may stand as numbers.
_ENTREZ: Final = (
    "entrez",
    "entrez_id",
    "entrezgene",
    "entrezgene_id",
    "entrez_gene_id",
    "ncbi_gene_id",
    "ncbi_id",
    "geneid",
)
# between the genes of a combination, or a gene and its guide
_JOINTS = re.compile(r"[+;,|& ]|__|_")


@dataclass(frozen=True, slots=True)
class GeneNames:
    """names: of each gene, each once. column: of var, None for its index. spellings: every way in
    which the file calls a gene → its name. ambiguous: names that several genes have in the column →
    these genes' names, which are those of the index."""

    names: tuple[str, ...]
    column: str | None = None
    spellings: Mapping[str, str] = field(default_factory=dict)
    ambiguous: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def choose_gene_names(
    path: Path, var: pd.DataFrame, wanted: Iterable[str], given: str | None = None
) -> GeneNames:
    """Return the names of the genes. wanted: values of the perturbation column.

    given: the column, "index" for the index. By default, the index is used, unless a column of gene
    names contains more of the wanted values, or contains symbols while the index has identifiers.
    Perturbed genes that are identifiers are translated by the column that has them. Raise
    InputError for a missing column or one without names, for numbers as names, and for repeated
    names in the index.
    """
    index = list(texts(pd.Series(var.index, name="index")))
    wanted = {piece for value in wanted for piece in (value, *_JOINTS.split(value))}
    columns = {
        str(name): [text.removesuffix(".0") for text in texts(var[name])]
        for name in var.columns
        if _names_genes(str(name), var[name], given)
    }
    if given is not None and given != "index" and given not in columns:
        raise InputError(
            f"{path}: --gene-names {given}: no column of names in var, which has"
            f" {list_some([*map(str, var.columns)]) or 'none'}"
        )
    chosen = given if given is not None else _find_column(index, columns, wanted)
    if chosen is None or chosen == "index":
        _refuse_repeated(path, index, list(columns))
        names, ambiguous, column = tuple(index), dict[str, tuple[str, ...]](), None
    else:
        names, ambiguous = _name_by(index, columns[chosen])
        column = chosen
        _refuse_repeated(path, names, list(columns))
    if wanted & {*names} and 2 * sum(map(str.isdecimal, names)) > len(names):
        symbols = next((name for name, values in columns.items() if not _are_ids(values)), "COLUMN")
        raise InputError(
            f"{path}: genes are named by numbers ({list_some(names, 3)}; Entrez ids, perhaps),"
            f" expected symbols, as in a column of var: --gene-names {symbols}"
        )
    return GeneNames(names, column, _spellings(names, [index, *columns.values()]), ambiguous)


def is_name_column(name: str) -> bool:
    """Return whether a column of var has a name of gene names."""
    return _fold(name) in {_fold(known) for known in (*_NAMES, *_ENTREZ)}


def _fold(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _names_genes(name: str, column: pd.Series, given: str | None) -> bool:
    if pd.api.types.is_numeric_dtype(column):
        return _fold(name) in {_fold(entrez) for entrez in _ENTREZ}
    return name == given or is_name_column(name)


def _find_column(
    index: Sequence[str], columns: Mapping[str, Sequence[str]], wanted: set[str]
) -> str | None:
    """Return the column of symbols that holds more of the wanted names than the index does, or that
    stands beside identifiers that do; None for the index."""
    best = max(columns, key=lambda name: len(wanted & set(columns[name])), default=None)
    if best is None:
        return None
    held, here = len(wanted & set(columns[best])), len(wanted & set(index))
    if held > here and not _are_ids(columns[best]):
        return best
    symbols = [name for name, values in columns.items() if not _are_ids(values)]
    return symbols[0] if symbols and _are_ids(index) and held + here > 0 else None


def _are_ids(names: Sequence[str]) -> bool:
    """Return whether most names are Ensembl's identifiers or numbers."""
    return 2 * sum(name.isdecimal() or ENSEMBL.fullmatch(name) is not None for name in names) > len(
        names
    )


def _name_by(
    index: Sequence[str], column: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Return the names in a column, with the index for missing or shared names, and the shared
    names."""
    of_name: dict[str, list[str]] = {}
    for identifier, name in zip(index, column, strict=True):
        of_name.setdefault(name, []).append(identifier)
    shared = {
        name: tuple(genes)
        for name, genes in of_name.items()
        if len(genes) > 1 and not is_missing(name)
    }
    names = tuple(
        i if is_missing(c) or c in shared else c for i, c in zip(index, column, strict=True)
    )
    return names, shared


def _spellings(names: Sequence[str], others: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return spelling → name of all columns, Ensembl's identifiers also without their version;
    names themselves come first."""
    found: dict[str, set[str]] = {}
    for column in others:
        for spelled, name in zip(column, names, strict=True):
            if not is_missing(spelled):
                found.setdefault(spelled, set()).add(name)
                if (identifier := ENSEMBL.fullmatch(spelled)) is not None:
                    found.setdefault(identifier[1], set()).add(name)
    return {spelled: next(iter(of)) for spelled, of in found.items() if len(of) == 1} | {
        name: name for name in names
    }


def _refuse_repeated(path: Path, names: Sequence[str], columns: Sequence[str]) -> None:
    repeated = [name for name, n in Counter(names).items() if n > 1]
    if repeated:
        others = (
            f" or name genes by another column of var (--gene-names {columns[0]})"
            if columns
            else ""
        )
        raise InputError(
            f"{path}: gene symbols that stand there more than once: {list_some(repeated)}; expected"
            " each once. Make them unique (by identifier, say), add up their"
            f" counts,{others or ' or leave all but one out'}"
        )
