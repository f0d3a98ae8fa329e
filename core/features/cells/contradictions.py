"""Find columns of obs that contradict the column of perturbations: a second perturbed gene, or
other controls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import pandas as pd

from core.base.errors import InputError
from core.features.cells.columns import texts
from core.features.importing.perturbations import read_perturbations
from core.stats.arrays import Bools

_FLAGS: Final = {
    "control",
    "controls",
    "ctrl",
    "ntc",
    "nontargeting",
    "controlcell",
    "controlcells",
}  # is_ before or not
_TRUE, _FALSE = {"1", "1.0", "true", "yes"}, {"0", "0.0", "false", "no"}
_LEAST_SHARE: Final = 0.01  # share of cells from which a contradiction is not an accident
_SHOWN: Final = 3


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
        values = texts(obs[name])
        read = read_perturbations(values, spellings, need_controls=False).of_value
        second = {
            value: each.name
            for value, each in read.items()
            if each.genes and set(each.genes) <= set(spellings.values())
        }
        others = np.array([second.get(value, "") for value in values], dtype=object)
        is_named = [
            set(other.split("+")) <= set(genes.split("+"))
            for other, genes in zip(others, genes_of_cell, strict=True)
        ]
        found = read_cells & (others != "") & ~np.array(is_named, dtype=np.bool_)
        if found.sum() > _LEAST_SHARE * read_cells.sum():
            none = pd.Series(values[read_cells & (others == "")]).mode().tolist()
            single = (
                f"take the cells with one by --where {name}={none[0]}, or "
                if none and none[0]
                else ""
            )
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
        if re.sub(r"^is|[^a-z]", "", name.lower()) not in _FLAGS:
            continue
        said = np.array([text.lower() for text in texts(obs[name])], dtype=object)
        flagged, denied = (
            np.isin(said.astype(str), sorted(_TRUE)),
            np.isin(said.astype(str), sorted(_FALSE)),
        )
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
    return ", ".join(map(str, pd.Series(values).value_counts().index[:_SHOWN]))
