"""Columns of obs with the origin of cells: cell line, donor, batch.

Their values may differ between controls and perturbed cells, and a comparison of these is then one
of lines, donors or batches as well.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from core.base.texts import list_some
from core.features.cells.columns import BATCH_NAMES, texts
from core.features.importing.perturbations import read_perturbations
from core.stats.arrays import Bools

# Cells of several lines must not be mixed, so the person must choose one. Other columns are
# reported if they differ.
LINES: Final = (
    "cell_line",
    "cellline",
    "cell_lines",
    "cell_line_id",
    "cell_type_id",
    "cell_type",
    "celltype",
    "cell_types",
    "celltypes",
    "tissue",
    "species",
    "organism",
    "line",
)
_KNOWN_LINES: Final = re.compile(  # values of a column of any name that tell lines
    r"(?:hek|hek-?293|293|hek-?293-?ft|hela|k-?562|h?t?e?rt?-?rpe-?1|rpe-?1|hep-?g2|jurkat|a-?549"
    r"|mcf-?7|mcf-?10a|thp-?1|u-?2-?os|u937"
    r"|hct-?116|a-?375|ht-?29|lncap|pc-?3|hap-?1|ipscs?|hescs?|h1|h9|wtc-?11|bmdms?|npcs?|huvecs?"
    r"|caco-?2|mda-?mb-?231|raw264\.?7"
    r"|nih-?3t3|t-?47d|sk-?n-?sh|sh-?sy5y|kelly|vcap|hl-?60)t?",
    re.I,
)
_ORIGINS: Final = (
    "patient",
    "individual",
    "subject",
    "replicate",
    "plate",
    "run",
    "experiment",
    "dataset",
    "day",
    "timepoint",
    "time",
    "treatment",
    "stimulation",
    "dose",
    "channel",
    "gem",
    "donor_id",
    "sample_id",
    "batch_id",
    "library_id",
)
_OUTCOMES: Final = re.compile(
    r"phase|cell_?cycle.*|leiden.*|louvain.*|.*clusters?(_.*)?|predicted.*|.*_?doublet.*|.*call.*"
)
DIFFERS: Final = "differs between controls and perturbed cells"
MOST_VALUES: Final = 200
_MOST_UNNAMED: Final = 12  # values of a column that nothing but its values tell to be one of origin
# half the sum of absolute differences of shares from which on a column is named
LEAST_DISTANCE: Final = 0.1
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Confounder:
    """A column with several values. counts: value → its control cells and its perturbed cells, most
    cells first. is_line: of LINES."""

    column: str
    counts: Mapping[str, tuple[int, int]]
    is_line: bool

    def line(self) -> str:
        """Return the table of the column in one line."""
        totals = [sum(pair[i] for pair in self.counts.values()) for i in (0, 1)]
        shown = [
            f"{value} ({n_control:,} of {totals[0]:,} controls, {n_perturbed:,} of {totals[1]:,}"
            " perturbed cells)"
            for value, (n_control, n_perturbed) in list(self.counts.items())[:_SHOWN]
        ]
        more = f" and {len(self.counts) - _SHOWN:,} more" if len(self.counts) > _SHOWN else ""
        return f"{self.column}: {', '.join(shown)}{more}"

    def question(self, *, within: bool) -> str:
        """Return what a person has to choose. within: whether cells can be compared inside each
        value."""
        inside = f", compare inside each with --within {self.column}" if within else ""
        return (
            f"{self.column} has several values, {self.line().partition(': ')[2]}; choose one with"
            f" --where {self.column}={next(iter(self.counts))}{inside}, or take them together with"
            f" --across {self.column}"
        )


def find_confounders(
    obs: pd.DataFrame, is_control: Bools, is_perturbed: Bools, others: Collection[str]
) -> tuple[Confounder, ...]:
    """Return columns with several values that are in LINES or contain names of lines, and other
    columns that differ between controls and the rest.

    A column with an uninformative name counts if it has few distinct texts, and if controls and
    other cells share at least two of them. is_control, is_perturbed: of shape (n_cells,). others:
    columns with the treatment of a cell.
    """
    found = list[Confounder]()
    kinds = pd.DataFrame({"control": is_control, "rest": is_perturbed})
    for name in map(str, obs.columns):
        folded = name.lower().replace(" ", "_").replace(".", "_")
        is_named = folded in (*LINES, *_ORIGINS, *BATCH_NAMES)
        may_tell = is_named or (_holds_few_texts(obs[name]) and not _OUTCOMES.fullmatch(folded))
        if name in others or not may_tell:
            continue
        values = texts(obs[name])
        table = kinds.groupby(values).sum()
        table = table[table.any(axis=1)]
        if not 1 < len(table) <= MOST_VALUES:
            continue
        is_line = folded in LINES or all(
            _KNOWN_LINES.fullmatch(value) for value in pd.unique(values[values != ""])
        )
        # half the sum of absolute differences of shares; 0 without controls
        differences = (table / table.sum()).diff(axis=1)["rest"].abs()
        differs = differences.sum() / 2 >= LEAST_DISTANCE
        is_shared = (table > 0).all(axis=1).sum() > 1
        if is_line or (differs and (is_named or is_shared)):
            table = table.loc[table.sum(axis=1).sort_values(ascending=False, kind="stable").index]
            counts = {str(each): (int(n), int(m)) for each, n, m in table.itertuples(name=None)}
            found.append(Confounder(name, counts, is_line))
    return tuple(found)


def _holds_few_texts(column: pd.Series) -> bool:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return len(column.cat.categories) <= _MOST_UNNAMED and not pd.api.types.is_numeric_dtype(
            column.cat.categories.dtype
        )
    is_text = pd.api.types.is_string_dtype(column.dtype) or column.dtype == object
    return is_text and 1 < column.nunique() <= _MOST_UNNAMED


_LEAST_SHARE: Final = 0.01  # share of cells from which a contradiction is not an accident


def describe_second_genes(
    obs: pd.DataFrame,
    column: str,
    genes_of_cell: np.ndarray,
    is_control: Bools,
    spellings: Mapping[str, str],
) -> str:
    """Describe a column that names a perturbed gene missing in the column of perturbations, and
    what to do; "" for none. genes_of_cell: as read from that column, joined by +, "" for controls
    (is_control) and unknown cells, both of shape (n_cells,). spellings: of the measured genes."""
    is_read, measured = is_control | (genes_of_cell != ""), {*spellings.values()}
    # named like a second column: gene_2 for gene or gene_1, second_gene
    base = re.sub(r"(?:[_. ]?(?:1|a|first))$|^first[_. ]?", "", column.lower())
    pattern = re.compile(rf"{re.escape(base)}[_. ]?(?:2|b|second)|second[_. ]?{re.escape(base)}")
    for name in map(str, obs.columns):
        if name == column or not pattern.fullmatch(name.lower()):
            continue
        values = texts(obs[name])
        meanings = read_perturbations(values, spellings, need_controls=False).of_value
        second = {value: {*each.genes} & measured for value, each in meanings.items()}
        is_other = is_read & np.array(
            [
                not second[value] <= {*genes.split("+")}
                for value, genes in zip(values, genes_of_cell, strict=True)
            ],
            dtype=np.bool_,
        )
        if is_other.sum() > _LEAST_SHARE * is_read.sum():
            names_none = np.array([not second[value] for value in values], dtype=np.bool_)
            none = next(iter(pd.Series(values[is_read & names_none]).mode()), "")
            single = f"take the cells with one by --where {name}={none}, or " if none else ""
            examples = list_some(pd.Series(values[is_other]).value_counts().index.tolist(), 3)
            return (
                f"{name} names a second perturbed gene of {is_other.sum():,} cells"
                f" ({examples}); {single}write both into one column of obs (A+B)"
            )
    return ""
