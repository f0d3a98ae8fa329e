"""The columns of a file of cells with the perturbations, and the value of the controls."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from core.base.errors import InputError
from core.base.texts import list_some
from core.features.importing.perturbations import matches_control
from core.features.importing.symbols import clean, is_missing, looks_like_control

PERTURBATION_NAMES = (  # the first that fits
    "gene",
    "perturbation",
    "target_gene",
    "guide_identity",
    "condition",
    "target",
    "gene_target",
    "perturbation_name",
    "pert",
)
BATCH_NAMES = ("batch", "gem_group", "lane", "library", "sample", "donor")
GUIDE_NAMES = ("guide", "guide_id", "guide_identity", "sgrna", "sgrna_id", "feature_call")
NO_BATCH = "none"  # the option for comparing cells of all batches together
MOST_CHARACTERS = 1_000  # of a name
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Columns:
    """The chosen columns of obs.

    control: a description of the values of `perturbation` that mean controls. batch, guide: None
    without one. given: the names of the fields chosen by a person; the others were found by name.
    others: further candidates for the column of perturbations.
    """

    perturbation: str
    control: str
    batch: str | None = None
    guide: str | None = None
    given: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def choose_columns(
    obs: pd.DataFrame,
    perturbation: str | None = None,
    control: Sequence[str] = (),
    batch: str | None = None,
    guide: str | None = None,
) -> Columns:
    """Return the columns given, and finds the others by name and by the values in them (letters'
    case is ignored).

    control: values of the controls, or patterns. batch: NO_BATCH is none, unless a column has that
    name. Of several columns with a perturbation's name, the first one (PERTURBATION_NAMES) that has
    control cells counts. Raises InputError if there is no perturbation column, if no cell is a
    control, and for columns that obs does not have.
    """
    no_batch = batch == NO_BATCH and NO_BATCH not in obs.columns
    for option, name in (
        ("perturbation", perturbation),
        ("batch", None if no_batch else batch),
        ("guide", guide),
    ):
        if name is not None:
            require_column(obs, option, name)
    guides = _find_named(obs, GUIDE_NAMES)
    candidates = [perturbation] if perturbation else _find_named(obs, PERTURBATION_NAMES) or guides
    if not candidates:
        raise InputError(
            f"no perturbation column: obs has {_names(obs)}, expected one of"
            f" {', '.join(PERTURBATION_NAMES)}; say which with --perturbation"
        )
    values = {name: _control_values(obs[name], control) for name in candidates}
    chosen = next((name for name in candidates if values[name]), None)
    if chosen is None:
        found = sorted({*texts(obs[candidates[0]])} - {""})
        alike = [value for value in found if control and looks_like_control(value)]
        raise InputError(
            f"no control cells: column {candidates[0]!r} has the values"
            f" {list_some(alike or found, _SHOWN) or 'none'}, expected"
            f" {' or '.join(map(repr, control)) or 'non-targeting, NT, control, ctrl or the like'}"
            " among them; say with --control which value stands for controls ('' for cells without"
            " one)"
        )
    batches = _find_named(obs, BATCH_NAMES)
    given = {"perturbation": perturbation, "control": control, "batch": batch, "guide": guide}
    return Columns(
        chosen,
        list_some(values[chosen], _SHOWN),
        None if no_batch else batch or next((each for each in batches if each != chosen), None),
        guide or next((each for each in guides if each != chosen), None),
        tuple(name for name, answer in given.items() if answer),
        tuple(name for name in candidates if name != chosen),
    )


def require_column(obs: pd.DataFrame, option: str, name: str) -> None:
    """Raise InputError for a column that obs does not have."""
    if name not in obs.columns:
        raise InputError(f"{option} column {name!r}: not in obs, which has {_names(obs)}")


def _names(obs: pd.DataFrame) -> str:
    return list_some([*map(str, obs.columns)], _SHOWN) or "none"


def _find_named(obs: pd.DataFrame, names: Sequence[str]) -> list[str]:
    by_name = {str(column).strip().lower(): str(column) for column in reversed(obs.columns)}
    return [by_name[name] for name in names if name in by_name]


def _control_values(column: pd.Series, control: Sequence[str]) -> list[str]:
    """Return the values of a column that mean controls, largest number of cells first."""
    return [
        value
        for value in map(str, pd.Series(texts(column)).value_counts().index)
        if any(matches_control(value, each) for each in control)
        or (not control and looks_like_control(value))
    ]


def texts(column: pd.Series) -> np.ndarray:
    """Return a column's values as clean texts, of shape (n_cells,), dtype object; "" where a value
    is missing.

    Raise InputError for a value that is too long to be a name: arrays of names are as wide as the
    longest.
    """
    code, distinct = pd.factorize(column)  # each distinct value is looked at once
    cleaned = [*(clean(str(value)) for value in distinct), ""]  # the last for a missing value
    longest = max(map(len, cleaned))
    if longest > MOST_CHARACTERS:
        raise InputError(
            f"column {column.name!r}: a value of {longest:,} characters, expected at most"
            f" {MOST_CHARACTERS:,}"
        )
    return np.array(cleaned, dtype=object)[code]


ENSEMBL: Final = re.compile(r"(ENS[A-Z]*G\d{6,})(?:\.\d+)?")
# Columns that name genes, without capitals and separators; any other counts only if it is given.
_NAMES: Final = {
    "genename",
    "genenames",
    "genesymbol",
    "genesymbols",
    "symbol",
    "symbols",
    "featurename",
    "geneshortname",
    "name",
    "hgncsymbol",
    "gene",
    "genes",
    "geneids",
    "ensemblid",
    "ensembl",
    "ensemblgeneid",
    "featureid",
}
# Columns of Entrez numbers, which may stand as numbers.
_ENTREZ: Final = {
    "entrez",
    "entrezid",
    "entrezgene",
    "entrezgeneid",
    "ncbigeneid",
    "ncbiid",
    "geneid",
}
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
    column = given if given is not None else _find_column(index, columns, wanted)
    names, ambiguous = tuple(index), dict[str, tuple[str, ...]]()
    if column == "index":
        column = None
    if column is not None:
        names, ambiguous = _name_by(index, columns[column])
    if repeated := [name for name, n in Counter(names).items() if n > 1]:
        others = f"name genes by another column of var (--gene-names {next(iter(columns), '')})"
        raise InputError(
            f"{path}: gene symbols that stand there more than once: {list_some(repeated)}; expected"
            " each once. Make them unique (by identifier, say), add up their counts, or"
            f" {others if columns else 'leave all but one out'}"
        )
    if wanted & {*names} and 2 * sum(map(str.isdecimal, names)) > len(names):
        symbols = next((name for name, values in columns.items() if not _are_ids(values)), "COLUMN")
        raise InputError(
            f"{path}: genes are named by numbers ({list_some(names, 3)}; Entrez ids, perhaps),"
            f" expected symbols, as in a column of var: --gene-names {symbols}"
        )
    return GeneNames(names, column, _spellings(names, [index, *columns.values()]), ambiguous)


def _names_genes(name: str, column: pd.Series, given: str | None) -> bool:
    folded = re.sub(r"[^a-z0-9]", "", name.lower())
    if pd.api.types.is_numeric_dtype(column):
        return folded in _ENTREZ
    return name == given or folded in _NAMES | _ENTREZ


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
    of_name = pd.Series(index, dtype=object).groupby([*column]).agg(tuple)
    shared: dict[str, tuple[str, ...]] = {
        str(name): genes
        for name, genes in of_name.items()
        if len(genes) > 1 and not is_missing(str(name))
    }
    names = (i if is_missing(c) or c in shared else c for i, c in zip(index, column, strict=True))
    return tuple(names), shared


def _spellings(names: Sequence[str], others: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return spelling → name of all columns, Ensembl's identifiers also without their version;
    names themselves come first."""
    found: dict[str, set[str]] = {}
    for column in others:
        for spelled, name in zip(column, names, strict=True):
            identifier = ENSEMBL.fullmatch(spelled)
            for each in {spelled, identifier[1] if identifier else spelled}:
                if not is_missing(each):
                    found.setdefault(each, set()).add(name)
    return {spelled: next(iter(of)) for spelled, of in found.items() if len(of) == 1} | {
        name: name for name in names
    }
