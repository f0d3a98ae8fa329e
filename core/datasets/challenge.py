"""train.csv and test.csv of the BioReasoning challenge."""

from __future__ import annotations

from core.datasets.pairs import PairKind, PairTable, collect_pairs
from core.datasets.tables import Table, quote
from core.types import Label, Pair, Rejected

_IDENTITY = ("id", "pert", "gene")
_LABELS = {str(label): label for label in (Label.UP, Label.DOWN, Label.NONE)}


def is_challenge(header: tuple[str, ...]) -> bool:
    """Whether a header is train.csv's, perhaps with further columns, or exactly test.csv's.

    One of id, pert and gene may be missing, which is then reported.

    A file with a column `split` is neither: its test rows must not become training rows.
    """
    known = sum(column in header for column in _IDENTITY)
    return known >= 2 and ("label" in header or set(header) <= set(_IDENTITY)) and "split" not in header


def read_challenge(table: Table, sha256: str) -> PairTable:
    """Labelled pairs of split "train", or unlabelled ones of split "test" if there is no column `label`."""
    labelled = "label" in table.header

    def to_pair(line: int, cells: list[str]) -> Pair | Rejected:
        pair_id, pert, gene = cells[:3]
        if pair_id != f"{pert}_{gene}":
            detail = f"id {quote(pair_id)}, expected {quote(f'{pert}_{gene}')}"
            return Rejected(table.name, line, "id mismatch", detail)
        if not labelled:
            return Pair(pair_id, pert, gene, None, "test")
        label = _LABELS.get(cells[3])
        if label is None:
            return Rejected(table.name, line, "bad label", f"{quote(cells[3])}, expected {', '.join(_LABELS)}")
        return Pair(pair_id, pert, gene, label, "train")

    pairs, lines = collect_pairs(table, (*_IDENTITY, "label") if labelled else _IDENTITY, to_pair)
    kind: PairKind = "challenge_train" if labelled else "challenge_test"
    return PairTable(kind, "ternary", pairs, lines=lines, rejected=tuple(table.rejected), sha256=sha256)
