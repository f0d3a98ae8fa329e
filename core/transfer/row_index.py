"""A dataset's rows as codes into one table of symbols, shared by perturbations and genes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.base.errors import InputError
from core.base.types import TRAIN
from core.stats import validate
from core.stats.arrays import Bools, Codes
from core.stats.scores_and_labels import Outcome, outcome_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class RowIndex:
    """All rows of a dataset, in file order.

    symbols: distinct, in alphabetical order. ids: of the pairs, as Arrow has texts: a million of
    Python's take 70 MB. labels: objects of shape (n_rows,), None if unknown. outcome: by the
    labels. is_training: flags of the rows of the training split.
    """

    symbols: tuple[str, ...]
    ids: pa.Array
    rows: Rows
    labels: NDArray[np.object_]
    outcome: Outcome
    is_training: Bools

    @classmethod
    def build(
        cls,
        pair_ids: Sequence[str] | pd.Series[str],
        pert: Sequence[str] | pd.Series[str],
        gene: Sequence[str] | pd.Series[str],
        labels: ArrayLike,
        splits: ArrayLike = TRAIN,
    ) -> RowIndex:
        """Return the index of a dataset's rows, all of length n_rows; labels: up, down, none, de,
        or None if unknown.

        splits: of each row, or one for all.
        """
        import pandas as pd

        coded = [pd.factorize(pd.Series(texts, dtype="str")) for texts in (pert, gene)]
        symbols = sorted({symbol for _, distinct in coded for symbol in distinct})
        place = {symbol: code for code, symbol in enumerate(symbols)}
        rows = Rows(
            *(
                np.array([place[symbol] for symbol in distinct], dtype=np.intp)[codes]
                for codes, distinct in coded
            )
        )
        ids, label_array = _arrow_texts(pair_ids), np.asarray(labels, dtype=object)
        outcome = outcome_of(label_array)
        validate.same_length(labels=outcome.labelled, rows=rows, pair_ids=ids)
        is_training = np.broadcast_to(np.asarray(splits, dtype=object) == TRAIN, len(rows))
        return cls(tuple(symbols), ids, rows, label_array, outcome, is_training)

    @classmethod
    def of_frame(cls, dataset: pd.DataFrame) -> RowIndex:
        """Return the index of a frame with one row per pair: pair_id, pert, gene, label (missing if
        unknown), split."""
        labels, splits = (_shared_texts(dataset[name]) for name in ("label", "split"))
        return cls.build(dataset["pair_id"], dataset["pert"], dataset["gene"], labels, splits)

    @cached_property
    def pair_ids(self) -> tuple[str, ...]:
        """The pairs' ids."""
        return tuple(self.ids.to_pylist())

    @cached_property
    def known(self) -> Knowledge:
        """The labelled rows of the training split; predictions learn from no others."""
        return _knowledge(self.outcome, self.rows, self.outcome.labelled & self.is_training)

    @cached_property
    def known_positions(self) -> Codes:
        """The positions of the known rows among all, in order."""
        return np.flatnonzero(self.outcome.labelled & self.is_training)

    @property
    def labelled_positions(self) -> Codes:
        """The positions of all labelled rows, including those outside the training split."""
        return np.flatnonzero(self.outcome.labelled)

    def knows(self, row: int) -> bool:
        """Return whether predictions may learn from the row at this position."""
        return bool(np.isin(row, self.known_positions))

    def positions_of(self, pair_ids: Sequence[str] | pd.Series[str]) -> Codes:
        """Return the positions of the rows with these ids. Raise InputError for unknown ids, naming
        the first."""
        import pyarrow.compute as pc

        ids = _arrow_texts(pair_ids)
        if ids.equals(self.ids):  # to look up a million takes a while
            return np.arange(len(ids))
        places = pc.index_in(ids, value_set=self.ids)
        if places.null_count:
            missing = ids.filter(places.is_null())
            raise InputError(
                f"row {missing[0].as_py()!r}: not in this dataset ({len(missing):,} of"
                f" {len(ids):,} ids are not)"
            )
        return np.asarray(places, dtype=np.intp)

    def symbol(self, code: int) -> str:
        """Return the symbol of a code."""
        return self.symbols[code]


def _arrow_texts(texts: Sequence[str] | pd.Series[str]) -> pa.Array:
    """Return texts as one array of Arrow."""
    import pyarrow as pa

    array = pa.array(texts, pa.large_string())
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _shared_texts(values: pd.Series[str]) -> NDArray[np.object_]:
    """Return the texts of a column, with equal texts as one object (a million objects take 60 MB);
    None for missing texts."""
    import pandas as pd

    codes, distinct = pd.factorize(values)
    return np.array([*distinct, None], dtype=object)[codes]  # the code of missing ones is -1


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
    return _knowledge(outcome, rows, outcome.labelled)


def _knowledge(outcome: Outcome, rows: Rows, chosen: Bools) -> Knowledge:
    flags = np.stack((outcome.labelled, outcome.effect, outcome.directed, outcome.up), axis=1)
    return Knowledge(rows, flags).take(chosen)


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
