"""A table of predicted changes, in any format, read in parts: only the requested pairs are
stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from core.base.types import Pair, Rejected
from core.features.cells.change_rows import KEYS, ask_about_repeats, open_changes
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
    is rejected. Raise InputError as `ChangeRows`, and for repeats that another column explains.
    """
    known, values = set(wanted.perts), set[str]()

    def places_of(perts: np.ndarray, genes: np.ndarray) -> np.ndarray:
        meanings = read_perturbations(perts, known).of_value
        return wanted.places_of(
            np.array([meanings[pert].name for pert in perts], dtype=object), genes
        )

    def keep(perts: np.ndarray, genes: np.ndarray) -> np.ndarray:
        values.update(perts)
        return places_of(perts, genes) >= 0

    with open_changes(path, options, for_labels=False) as table:
        rows = pd.concat(table.parts(keep))
    places = places_of(rows["pert"].to_numpy(), rows["gene"].to_numpy())
    repeated = pd.Series(places, rows.index).duplicated(keep=False)
    again = pd.Series(places).duplicated().to_numpy()
    if is_often(int(again.sum()), len(rows)):
        ask_about_repeats(path, options, pd.Series(places, rows.index)[repeated])
    rejected = [
        Rejected(
            path.name,
            int(line),
            "duplicate",
            f"{wanted.pair_ids[place]!r} stands in an earlier row already",
        )
        for line, place in zip(rows.index[again], places[again], strict=True)
    ]
    numbers = {str(role): np.full(len(wanted), np.nan) for role in rows if role not in KEYS}
    for role, of_pairs in numbers.items():
        of_pairs[places[~again]] = rows[role].to_numpy()[~again]
    evidence, signed, measure = _evidence_of(numbers)
    return PredictedChanges(
        evidence=evidence,
        signed=signed,
        log2_fc=numbers.get("log2_fc"),
        measure=measure,
        read_as=table.columns,
        rejected=tuple(sorted((*table.rejected, *rejected), key=lambda row: row.line)),
        other_pairs=table.n_rows - table.n_chosen,
        values=tuple(sorted(values)[:SHOWN_VALUES]),
        notes=table.notes(),
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


@dataclass(frozen=True, slots=True, eq=False)
class WantedPairs:
    """The pairs of a dataset, in its order, each once."""

    pair_ids: tuple[str, ...]
    perts: tuple[str, ...]
    genes: tuple[str, ...]
    _index: pd.MultiIndex = field(repr=False)

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> WantedPairs:
        """Return the requested pairs."""
        perts, genes = tuple(pair.pert for pair in pairs), tuple(pair.gene for pair in pairs)
        return cls(
            tuple(pair.pair_id for pair in pairs),
            perts,
            genes,
            pd.MultiIndex.from_arrays([perts, genes]),
        )

    def __len__(self) -> int:
        return len(self.pair_ids)

    def places_of(self, perts: np.ndarray, genes: np.ndarray) -> Codes:
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
