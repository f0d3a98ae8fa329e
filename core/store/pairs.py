"""The rows of datasets: (perturbation, gene) pairs and their labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd
import pyarrow as pa

from core.store.connection import Cursor
from core.store.queries import data_frame, insert, one
from core.texts import symbol_kind
from core.types import Pair


def add(cursor: Cursor, dataset: str, pairs: Sequence[Pair], source: str) -> None:
    """Add new pairs after those of the dataset. source: the import that they came with."""
    row = one(cursor, "SELECT coalesce(max(position), -1) + 1 FROM pair WHERE dataset = ?", [dataset])
    _insert(cursor, dataset, pairs, [source] * len(pairs), row[0] if row else 0)


def replace(cursor: Cursor, dataset: str, pairs: Sequence[Pair], sources: Sequence[str]) -> None:
    """Replace all pairs of a dataset. sources: the import that each of them came with."""
    cursor.execute("DELETE FROM pair WHERE dataset = ?", [dataset])
    _insert(cursor, dataset, pairs, sources, 0)


def _insert(cursor: Cursor, dataset: str, pairs: Sequence[Pair], sources: Sequence[str], first: int) -> None:
    if not pairs:
        return
    columns = {
        "dataset": [dataset] * len(pairs),
        "pair_id": [p.pair_id for p in pairs],
        "pert": [p.pert for p in pairs],
        "gene": [p.gene for p in pairs],
        "label": pa.array([p.label for p in pairs], pa.string()),
        "split": [p.split for p in pairs],
        "position": pa.array(range(first, first + len(pairs)), pa.int32()),
        "import": sources,
    }
    insert(cursor, "pair", columns)


def add_genes(cursor: Cursor, symbols: Iterable[str], descriptions: Mapping[str, str]) -> None:
    """Add new genes, each with the kind of its symbol and a description if there is one."""
    distinct = sorted(set(symbols))
    columns = {
        "symbol": pa.array(distinct, pa.string()),
        "naming": pa.array([symbol_kind(symbol) for symbol in distinct], pa.string()),
        "description": pa.array([descriptions.get(symbol) for symbol in distinct], pa.string()),
    }
    insert(cursor, "gene", columns, ignore_existing=True)


def describe(cursor: Cursor, descriptions: Mapping[str, str]) -> int:
    """Set the descriptions of known genes, except empty ones, and return how many were set."""
    texts = {symbol: text for symbol, text in descriptions.items() if text.strip()}
    cursor.register("described", pa.table({"symbol": list(texts), "text": list(texts.values())}))
    updated = cursor.execute(
        "UPDATE gene SET description = d.text FROM described d WHERE gene.symbol = d.symbol RETURNING 1"
    ).fetchall()
    cursor.unregister("described")
    return len(updated)


def labels(cursor: Cursor, dataset: str) -> dict[str, str | None]:
    """pair_id → label (None if unknown) of every row of a dataset."""
    return dict(cursor.execute("SELECT pair_id, label FROM pair WHERE dataset = ?", [dataset]).fetchall())


def datasets_with(cursor: Cursor, pair_ids: Sequence[str]) -> list[tuple[str, int]]:
    """(dataset id, how many of the ids it knows), best first; datasets that know none are left out."""
    cursor.register("wanted", pa.table({"pair_id": pair_ids}))
    rows = cursor.execute(
        "SELECT dataset, count(*) FROM pair SEMI JOIN wanted USING (pair_id) GROUP BY dataset ORDER BY 2 DESC, 1"
    ).fetchall()
    cursor.unregister("wanted")
    return rows


def frame(cursor: Cursor, dataset: str) -> pd.DataFrame:
    """All rows of a dataset in file order: pair_id, pert, gene, label, split."""
    return data_frame(cursor, "SELECT pair_id, pert, gene, label, split FROM pair WHERE dataset = ? ORDER BY position", [dataset])


def delete_import(cursor: Cursor, source: str) -> int:
    """Delete the rows that came with an import, and return how many."""
    return len(cursor.execute("DELETE FROM pair WHERE import = ? RETURNING 1", [source]).fetchall())


def symbol(cursor: Cursor, name: str) -> tuple[str, str | None]:
    """How a gene is named ("named", "RIKEN clone", …), and its description if there is one."""
    row = one(cursor, "SELECT naming, description FROM gene WHERE symbol = ?", [name])
    return (row[0], row[1]) if row else (symbol_kind(name), None)
