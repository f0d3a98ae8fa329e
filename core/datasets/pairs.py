"""Tables of pairs: what the challenge's files and PerturbQA have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from core.datasets.tables import Table, TableRows, quote
from core.types import DatasetKind, Pair, Rejected

PairKind = Literal["challenge_train", "challenge_test", "perturbqa"]


@dataclass(frozen=True)
class PairTable(TableRows):
    """The pairs of one file."""

    kind: PairKind
    dataset_kind: DatasetKind
    pairs: tuple[Pair, ...]


def duplicate(table: Table, line: int, pair_id: str, first_line: int) -> Rejected:
    """The rejection of a row whose id an earlier row has."""
    return Rejected(table.name, line, "duplicate", f"{quote(pair_id)} stands on line {first_line} already")


def collect_pairs(
    table: Table, columns: tuple[str, ...], to_pair: Callable[[int, list[str]], Pair | Rejected]
) -> tuple[tuple[Pair, ...], tuple[int, ...]]:
    """Pairs and their lines; `to_pair` gets the line and the cells of `columns`, none of them empty.

    Of rows with the same id the first counts; later ones, empty cells and what `to_pair` rejects go to `table.rejected`.
    """
    positions = table.require(*columns)
    if positions is None:
        return (), ()
    pairs: list[Pair] = []
    lines: dict[str, int] = {}
    for line, cells in table.records():
        result: Pair | Rejected = table.empty_cell(line, cells, positions) or to_pair(
            line, [cells[position] for position in positions]
        )
        if isinstance(result, Pair) and result.pair_id in lines:
            result = duplicate(table, line, result.pair_id, lines[result.pair_id])
        if isinstance(result, Pair):
            pairs.append(result)
            lines[result.pair_id] = line
        else:
            table.rejected.append(result)
    return tuple(pairs), tuple(lines.values())
