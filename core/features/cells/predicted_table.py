"""A table of predicted changes, in any format, read in parts: only the requested pairs are
stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from core.base.types import Pair, Rejected
from core.features.cells.change_rows import KEYS, ask_about_repeats, read_changes
from core.features.importing.perturbations import read_perturbations
from core.features.importing.roles import AS_GUESSED, TableOptions, is_often
from core.stats.arrays import Bools, Codes, Floats

FORMATS = (".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".xlsm", ".json", ".jsonl")
# replaces a p-value of 0, which has no logarithm
_SMALLEST_P: Final = float(np.finfo(np.float64).tiny)


def read_predicted_table(
    path: Path, wanted: WantedPairs, options: TableOptions = AS_GUESSED
) -> PredictedChanges:
    """Return a table's predictions of the wanted pairs.

    Evidence of a change is |z|, from a column z or the change / standard_error, else -log10 p, else
    |log2_fc|; the signed one has the sign of the change. Rows of other pairs are counted, not kept.
    A row that repeats a pair, has an empty cell or no number, or one that its column cannot hold,
    is rejected. Raise InputError as `read_changes`, and for repeats that another column explains.
    """
    known, values = set(wanted.perts), set[str]()

    def places_of(perts: np.ndarray, genes: np.ndarray) -> Codes:
        meanings = read_perturbations(perts, known).of_value
        return wanted.places_of([meanings[pert].name for pert in perts], genes)

    def keep(perts: np.ndarray, genes: np.ndarray) -> Bools:
        values.update(perts)
        return places_of(perts, genes) >= 0

    table = read_changes(path, options, keep)
    rows = table.rows
    places = pd.Series(places_of(rows["pert"].to_numpy(), rows["gene"].to_numpy()), rows.index)
    again = places.duplicated()
    if is_often(int(again.sum()), len(rows)):
        ask_about_repeats(path, options, places[places.duplicated(keep=False)])
    rejected = [
        Rejected(
            path.name,
            int(line),
            "duplicate",
            f"{wanted.pairs[place].pair_id!r} stands in an earlier row already",
        )
        for line, place in places[again].items()
    ]
    numbers = rows[~again].drop(columns=[*KEYS]).set_axis(places[~again])
    of_pairs = numbers.reindex(range(len(wanted.pairs)))
    evidence, signed, measure = _evidence_of(
        {str(role): column.to_numpy() for role, column in of_pairs.items()}
    )
    return PredictedChanges(
        evidence=evidence,
        signed=signed,
        log2_fc=of_pairs["log2_fc"].to_numpy() if "log2_fc" in of_pairs else None,
        measure=measure,
        read_as=table.columns,
        rejected=tuple(sorted((*table.rejected, *rejected), key=lambda row: row.line)),
        other_pairs=table.n_rows - table.n_chosen,
        values=tuple(sorted(values)[:SHOWN_VALUES]),
        notes=table.notes,
    )


def _evidence_of(numbers: Mapping[str, Floats]) -> tuple[Floats, Floats, str]:
    """Return evidence, signed evidence and the measure; see `read_predicted_table`."""
    change = numbers.get("log2_fc")
    if "z" in numbers:
        return np.abs(numbers["z"]), numbers["z"], "z"
    assert change is not None  # or there is z
    if "standard_error" in numbers:
        z = change / numbers["standard_error"]
        return np.abs(z), z, "z"
    p = numbers.get("p", numbers.get("adjusted_p"))
    if p is None:
        return np.abs(change), change, "log2_fc"
    evidence = -np.log10(np.maximum(p, _SMALLEST_P))
    return evidence, np.sign(change) * evidence, "-log10 p"


SHOWN_VALUES = 3


@dataclass(frozen=True, eq=False)
class WantedPairs:
    """The pairs of a dataset, in its order, each once."""

    pairs: Sequence[Pair]

    @cached_property
    def perts(self) -> tuple[str, ...]:
        return tuple(pair.pert for pair in self.pairs)

    @cached_property
    def genes(self) -> tuple[str, ...]:
        return tuple(pair.gene for pair in self.pairs)

    @cached_property
    def _index(self) -> pd.MultiIndex:
        return pd.MultiIndex.from_arrays([self.perts, self.genes])

    def places_of(self, perts: Sequence[str], genes: Iterable[str]) -> Codes:
        """Return the place of each (perturbation, gene) among the pairs, of shape (n,); -1 for
        others."""
        return self._index.get_indexer(pd.MultiIndex.from_arrays([perts, genes]))


@dataclass(frozen=True, slots=True, eq=False)
class PredictedChanges:
    """A file's predictions of n_pairs pairs, of shape (n_pairs,), NaN for a pair that it does not
    cover.

    evidence: of a change, from 0. signed: the same with the direction of the change. log2_fc: None
    if the file has none. measure: what evidence is, "z", "-log10 p" or "log2_fc". read_as: choice →
    the column or value of the file. other_pairs: how many rows, or perturbations, of the file are
    not in the dataset. values: some of its perturbations. notes: how a table was read, in words.
    """

    evidence: Floats
    signed: Floats
    log2_fc: Floats | None
    measure: str
    read_as: Mapping[str, str]
    rejected: tuple[Rejected, ...] = ()
    other_pairs: int = 0
    values: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def covered(self) -> Bools:
        """Flags of the pairs covered by the file."""
        return ~np.isnan(self.signed)
