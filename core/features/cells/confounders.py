"""Columns of obs with the origin of cells: cell line, donor, batch.

Their values may differ between controls and perturbed cells, and a comparison of these is then one
of lines, donors or batches as well.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from core.base.errors import InputError
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
    *(
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
    ),
    *(
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
    ),
)
_OUTCOMES: Final = re.compile(
    r"phase|cell_?cycle.*|leiden.*|louvain.*|.*clusters?(_.*)?|predicted.*|.*_?doublet.*|.*call.*"
)
MOST_VALUES: Final = 200
_MOST_UNNAMED: Final = 12  # values of a column that nothing but its values tell to be one of origin
# half the sum of absolute differences of shares from which on a column is named
LEAST_DISTANCE: Final = 0.1
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Confounder:
    """A column with several values. counts: value → its control cells and its perturbed cells, most
    cells first. is_line: of LINES. distance: between both distributions, from 0 to 1."""

    column: str
    counts: Mapping[str, tuple[int, int]]
    is_line: bool
    distance: float

    @property
    def is_shared(self) -> bool:
        """Whether controls and perturbed cells share at least two values, so it does not describe
        this difference."""
        return sum(min(pair) > 0 for pair in self.counts.values()) > 1

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


def find_confounders(
    obs: pd.DataFrame, is_control: Bools, is_perturbed: Bools, others: Collection[str]
) -> tuple[Confounder, ...]:
    """Return columns with several values that are in LINES or contain names of lines, and other
    columns that differ between controls and the rest.

    A column with an uninformative name counts if it has few distinct texts, and if both controls
    and other cells have several of them. is_control, is_perturbed: of shape (n_cells,). others:
    columns with the treatment of a cell.
    """
    found = list[Confounder]()
    for name in map(str, obs.columns):
        folded = name.lower().replace(" ", "_").replace(".", "_")
        is_named = folded in (*LINES, *_ORIGINS, *BATCH_NAMES)
        if name in others or not (
            is_named or (_holds_few_texts(obs[name]) and not _OUTCOMES.fullmatch(folded))
        ):
            continue
        values = texts(obs[name])
        is_line = folded in LINES or all(
            _KNOWN_LINES.fullmatch(value) for value in pd.unique(values[values != ""])
        )
        one = _compare(name, values, is_control, is_perturbed, is_line)
        if one is not None and (
            is_line or (one.distance >= LEAST_DISTANCE and (is_named or one.is_shared))
        ):
            found.append(one)
    return tuple(found)


def _holds_few_texts(column: pd.Series) -> bool:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return len(column.cat.categories) <= _MOST_UNNAMED and not pd.api.types.is_numeric_dtype(
            column.cat.categories.dtype
        )
    is_text = pd.api.types.is_string_dtype(column.dtype) or column.dtype == object
    return is_text and 1 < column.nunique() <= _MOST_UNNAMED


def _compare(
    name: str, values: np.ndarray, is_control: Bools, is_perturbed: Bools, is_line: bool
) -> Confounder | None:
    table = pd.DataFrame(
        {
            "control": pd.Series(values[is_control]).value_counts(),
            "rest": pd.Series(values[is_perturbed]).value_counts(),
        }
    )
    table = table.fillna(0).astype(int)
    if not 1 < len(table) <= MOST_VALUES:
        return None
    shares = table / table.sum().clip(lower=1)
    table = table.loc[table.sum(axis=1).sort_values(ascending=False, kind="stable").index]
    counts = {
        str(value): (int(control), int(rest))
        for value, control, rest in table.itertuples(name=None)
    }
    distance = (
        float((shares["control"] - shares["rest"]).abs().sum() / 2)
        if table["control"].any()
        else 0.0
    )
    return Confounder(name, counts, is_line, distance)


def refuse_mixed_lines(
    where: str, found: Collection[Confounder], handled: Collection[str], *, within: bool = False
) -> None:
    """Raise InputError for cells of several lines unless the column was handled. within: whether
    they can be compared inside each line.
    """
    mixed = next((each for each in found if each.is_line and each.column not in handled), None)
    if mixed is None:
        return
    inside = f", compare inside each with --within {mixed.column}" if within else ""
    raise InputError(
        f"{where}: {mixed.column} has several values, {mixed.line().partition(': ')[2]}; choose one"
        f" with --where {mixed.column}={next(iter(mixed.counts))}{inside}, or take them together"
        f" with --across {mixed.column}"
    )


_FLAGS: Final = re.compile(r"(is)?(controls?|ctrl|ntc|nontargeting|controlcells?)")
_TRUE, _FALSE = {"1", "1.0", "true", "yes"}, {"0", "0.0", "false", "no"}
_LEAST_SHARE: Final = 0.01  # share of cells from which a contradiction is not an accident
_MAX_EXAMPLES: Final = 3


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
    read_cells = is_control | (genes_of_cell != "")
    # named like a second column: gene_2 for gene or gene_1, second_gene
    base = re.sub(r"(?:[_. ]?(?:1|a|first))$|^first[_. ]?", "", column.lower())
    pattern = re.compile(rf"{re.escape(base)}[_. ]?(?:2|b|second)|second[_. ]?{re.escape(base)}")
    for name in map(str, obs.columns):
        if name == column or not pattern.fullmatch(name.lower()):
            continue
        values, measured = texts(obs[name]), set(spellings.values())
        second = {
            value: each.name if set(each.genes) <= measured else ""
            for value, each in read_perturbations(
                values, spellings, need_controls=False
            ).of_value.items()
        }
        others = np.array([second[value] for value in values], dtype=object)
        is_other = [
            not set(other.split("+")) <= set(genes.split("+"))
            for other, genes in zip(others, genes_of_cell, strict=True)
        ]
        found = read_cells & (others != "") & np.array(is_other, dtype=np.bool_)
        if found.sum() > _LEAST_SHARE * read_cells.sum():
            none = next(iter(pd.Series(values[read_cells & (others == "")]).mode()), "")
            single = f"take the cells with one by --where {name}={none}, or " if none else ""
            return (
                f"{name} names a second perturbed gene of {found.sum():,} cells"
                f" ({_examples(values[found])}); {single}write both into one column of obs (A+B)"
            )
    return ""


def describe_other_controls(
    obs: pd.DataFrame, values: np.ndarray, is_control: Bools, is_perturbed: Bools
) -> str:
    """Describe a column that marks other cells as controls, and what to do; "" for none. values: of
    the column of perturbations; is_control, is_perturbed: as read from it; all of shape
    (n_cells,)."""
    for name in map(str, obs.columns):
        if not _FLAGS.fullmatch(re.sub("[^a-z]", "", name.lower())):
            continue
        said = pd.Series(texts(obs[name])).str.lower()
        flagged, denied = said.isin(_TRUE).to_numpy(), said.isin(_FALSE).to_numpy()
        if not (flagged.any() and denied.any() and (flagged | denied | (said == "")).all()):
            continue
        more, fewer = flagged & is_perturbed, denied & is_control
        if (more | fewer).sum() > _LEAST_SHARE * len(said):
            parts = [
                f"{each.sum():,} cells {what} ({_examples(values[each])})"
                for each, what in (
                    (more, "that are perturbed by their names are controls"),
                    (fewer, "of the controls are none"),
                )
                if each.any()
            ]
            return (
                f"by {name}, {' and '.join(parts)}; say with --control which values stand for"
                " controls"
            )
    return ""


def refuse_contradictions(where: str, found: Iterable[str]) -> None:
    """Raise InputError with the findings of `describe_second_genes` or
    `describe_other_controls`."""
    first = next(iter(found), None)
    if first is not None:
        raise InputError(f"{where}: {first}")


def _examples(values: np.ndarray) -> str:
    return ", ".join(map(str, pd.Series(values).value_counts().index[:_MAX_EXAMPLES]))
