"""The `<line>-de.csv` and `<line>-dir.csv` files of PerturbQA."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

from core.datasets.pairs import PairTable, collect_pairs
from core.datasets.tables import Table, quote
from core.errors import InputError
from core.types import Label, Pair, Rejected

_COLUMNS = ("pert", "gene", "label", "split")
_LABELS = {"de": {"1": Label.DE, "0": Label.NONE}, "dir": {"1": Label.UP, "0": Label.DOWN}}


def is_perturbqa(header: tuple[str, ...]) -> bool:
    """Whether a header has PerturbQA's `split` and at least two of its other columns, and no id."""
    return "split" in header and "id" not in header and sum(column in header for column in _COLUMNS) >= 3


def read_perturbqa(table: Table, sha256: str) -> PairTable:
    """Pairs with their split; 1 means changed in a -de file and up in a -dir file.

    The columns are the same in both, so the file's name decides; raises InputError if it ends in neither -de nor -dir.
    """
    task = _task(table.name)

    def to_pair(line: int, cells: list[str]) -> Pair | Rejected:
        pert, gene, code, split = cells
        label = _LABELS[task].get(code)
        if label is None:
            return Rejected(table.name, line, "bad label", f"{quote(code)}, expected 0 or 1")
        return Pair(f"{pert}_{gene}", pert, gene, label, split)

    pairs, lines = collect_pairs(table, _COLUMNS, to_pair)
    return PairTable("perturbqa", task, pairs, lines=lines, rejected=tuple(table.rejected), sha256=sha256)


def _task(name: str) -> Literal["de", "dir"]:
    stem = PurePosixPath(name).stem.lower()
    if stem.endswith("-de"):
        return "de"
    if stem.endswith("-dir"):
        return "dir"
    raise InputError(f"{name}: a PerturbQA table, but of which task? Name it <line>-de.csv or <line>-dir.csv")
