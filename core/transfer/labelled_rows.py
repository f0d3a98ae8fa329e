"""Rows as codes, the labelled rows among them, and the labelled rows that a row may see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.base.errors import InputError
from core.stats import validate
from core.stats.arrays import Bools, Codes
from core.stats.scores_and_labels import outcome_of

Axis = Literal["gene", "pert", "both"]
LABELLED, EFFECT, DIRECTED, UP = range(4)  # the columns of `Knowledge.flags` and of all label sums


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows as codes of shape (n_rows,): positions of their symbols in the arrays behind the
    similarities."""

    pert: Codes
    gene: Codes

    def __len__(self) -> int:
        return len(self.pert)

    def take(self, rows: Bools | Codes) -> Rows:
        """Return the chosen rows."""
        return Rows(self.pert[rows], self.gene[rows])

    def swap_axes(self) -> Rows:
        """Return the same rows with the axes exchanged."""
        return Rows(self.gene, self.pert)


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """The labelled rows of a knowledge base; flags of shape (n_rows, 4): labelled, effect,
    directed, up."""

    rows: Rows
    flags: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Bools | Codes) -> Knowledge:
        """Return the chosen rows as a knowledge base of their own."""
        return Knowledge(self.rows.take(rows), self.flags[rows])

    def swap_axes(self) -> Knowledge:
        """Return the same rows with the axes exchanged."""
        return Knowledge(self.rows.swap_axes(), self.flags)


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Limits on what a row may see: only rows whose perturbation and gene both lie in parts other
    than its own.

    pert, gene: the part of each symbol, of shape (n_symbols,).
    """

    pert: Codes
    gene: Codes

    def swap_axes(self) -> Parts:
        """Return the same parts with the axes exchanged."""
        return Parts(self.gene, self.pert)


def rows_of(pert: ArrayLike, gene: ArrayLike) -> Rows:
    """Return rows from two arrays of codes of shape (n_rows,). Raise InputError for anything but
    whole numbers from 0."""
    perts, genes = _codes("pert", pert), _codes("gene", gene)
    validate.same_length(pert=perts, gene=genes)
    return Rows(perts, genes)


def knowledge_of(labels: ArrayLike, rows: Rows) -> Knowledge:
    """Return the rows with a known label; labels of shape (n_rows,): up, down, none, de, or None if
    unknown."""
    outcome = outcome_of(labels)
    validate.same_length(labels=outcome.labelled, rows=rows)
    flags = np.stack((outcome.labelled, outcome.effect, outcome.directed, outcome.up), axis=1)
    return Knowledge(rows, flags).take(outcome.labelled)


def visible_rows(row: tuple[int, int], known: Rows, parts: Parts | None) -> Bools:
    """Return flags of the known rows that the row of these (perturbation, gene) codes may see, of
    shape (n_known,)."""
    if parts is None:
        return np.ones(len(known), dtype=np.bool_)
    pert, gene = row
    return np.asarray(
        (parts.pert[known.pert] != parts.pert[pert]) & (parts.gene[known.gene] != parts.gene[gene])
    )


def _codes(name: str, values: ArrayLike) -> Codes:
    array = np.asarray(values)
    if array.ndim != 1 or (len(array) and array.dtype.kind not in "iu"):
        raise InputError(
            f"{name}: got an array of {array.dtype} of shape {array.shape}; expected one code"
            " per row"
        )
    if len(array) and array.min() < 0:
        raise InputError(
            f"{name}: {validate.named_rows(array < 0)}: got {array.min()}; expected codes from 0"
        )
    return array.astype(np.intp, copy=False)
