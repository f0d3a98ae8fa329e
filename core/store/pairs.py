"""The rows of datasets: (perturbation, gene) pairs and their labels."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from core.base.hashes import sha256_of
from core.base.texts import symbol_kind
from core.base.types import ASKED, Label, Pair
from core.store.connection import Cursor
from core.store.queries import data_frame, insert, one

PAIR_COLUMNS = ("pair_id", "pert", "gene", "label", "split")


def add(cursor: Cursor, dataset: str, pairs: Sequence[Pair], source: str) -> None:
    """Add new pairs, as `add_rows` does."""
    add_rows(cursor, dataset, table_of(pairs), source)


def add_rows(cursor: Cursor, dataset: str, rows: pa.Table, source: str) -> None:
    """Add new pairs after those of the dataset, instead of equal ones that a person typed. rows:
    PAIR_COLUMNS; source: the import they came with."""
    _delete_asked(cursor, dataset, rows)
    row = one(
        cursor, "SELECT coalesce(max(position), -1) + 1 FROM pair WHERE dataset = ?", [dataset]
    )
    _insert(cursor, dataset, rows, pa.repeat(source, len(rows)), row[0] if row else 0)


def replace(cursor: Cursor, dataset: str, pairs: Sequence[Pair], sources: Sequence[str]) -> None:
    """Replace all pairs of a dataset; pairs typed by a person stay, unless they are among the new
    ones. sources: the import that each of them came with."""
    cursor.execute("DELETE FROM pair WHERE dataset = ? AND split <> ?", [dataset, ASKED])
    rows = table_of(pairs)
    _delete_asked(cursor, dataset, rows)
    _insert(cursor, dataset, rows, pa.array(sources, pa.string()), 0)


def table_of(pairs: Sequence[Pair]) -> pa.Table:
    """Return pairs as PAIR_COLUMNS."""
    columns = {name: [getattr(pair, name) for pair in pairs] for name in PAIR_COLUMNS}
    return pa.table({name: pa.array(texts, pa.string()) for name, texts in columns.items()})


def _delete_asked(cursor: Cursor, dataset: str, rows: pa.Table) -> None:
    """Delete those of some pairs that a person typed before the dataset had them."""
    asked = cursor.execute(
        "SELECT pair_id FROM pair WHERE dataset = ? AND split = ?", [dataset, ASKED]
    ).fetchall()
    if asked:
        gone = sorted({*rows["pair_id"].to_pylist()}.intersection(*zip(*asked, strict=True)))
        where = "dataset = ? AND split = ? AND pair_id IN (SELECT unnest(?))"
        cursor.execute(f"DELETE FROM pair WHERE {where}", [dataset, ASKED, gone])


def _insert(cursor: Cursor, dataset: str, rows: pa.Table, sources: pa.Array, first: int) -> None:
    columns = {
        "dataset": pa.repeat(dataset, len(rows)),
        **dict(zip(PAIR_COLUMNS, rows.columns, strict=True)),
        "position": pa.array(np.arange(first, first + len(rows), dtype=np.int32)),
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
        "UPDATE gene SET description = d.text FROM described d WHERE gene.symbol = d.symbol"
        " RETURNING 1"
    ).fetchall()
    cursor.unregister("described")
    return len(updated)


def labels(cursor: Cursor, dataset: str) -> dict[str, str | None]:
    """pair_id → label (None if unknown) of every row of a dataset."""
    ids, known = label_columns(cursor, dataset).columns
    return dict(zip(ids.to_pylist(), known.to_pylist(), strict=True))


def label_columns(cursor: Cursor, dataset: str) -> pa.Table:
    """Return pair_id and label (null if unknown) of every row of a dataset."""
    query = "SELECT pair_id, label FROM pair WHERE dataset = ? AND split <> ?"
    return cursor.sql(query, params=[dataset, ASKED]).to_arrow_table()


def find(cursor: Cursor, dataset: str, pert: str, gene: str) -> Pair | None:
    """Return the row of a perturbation and a gene, preferring the dataset's own over one typed by a
    person; None if missing."""
    row = one(
        cursor,
        """SELECT pair_id, pert, gene, label, split FROM pair WHERE dataset = ? AND pert = ? AND
          gene = ?
           ORDER BY split = ?, position LIMIT 1""",
        [dataset, pert, gene, ASKED],
    )
    return _pair(row)


def by_id(cursor: Cursor, dataset: str, pair_id: str) -> Pair | None:
    """Return the row with this id, including rows typed by a person; None if missing."""
    query = "SELECT pair_id, pert, gene, label, split FROM pair WHERE dataset = ? AND pair_id = ?"
    return _pair(one(cursor, query, [dataset, pair_id]))


def _pair(row: tuple[Any, ...] | None) -> Pair | None:
    return None if row is None else Pair(row[0], row[1], row[2], row[3] and Label(row[3]), row[4])


def spellings(
    cursor: Cursor, dataset: str, role: Literal["pert", "gene"], symbol: str
) -> list[str]:
    """Return how a dataset's own rows write a symbol, letters of any case, in the order of their
    names."""
    rows = cursor.execute(
        f"SELECT DISTINCT {role} FROM pair WHERE dataset = ? AND lower({role}) = lower(?) AND split"
        " <> ? ORDER BY 1",
        [dataset, symbol, ASKED],
    )
    return [name for (name,) in rows.fetchall()]


def add_asked(cursor: Cursor, dataset: str, pert: str, gene: str) -> Pair:
    """Add a pair that a person typed, and return it. It counts as of the import of the dataset's
    first row: that cannot be undone while a run predicts the pair."""
    row = one(
        cursor, "SELECT import FROM pair WHERE dataset = ? ORDER BY position LIMIT 1", [dataset]
    )
    pair_id = f"{pert}_{gene}"
    # A_B and C, A and B_C
    while one(cursor, "SELECT 1 FROM pair WHERE dataset = ? AND pair_id = ?", [dataset, pair_id]):
        pair_id += "_"
    pair = Pair(pair_id, pert, gene, None, ASKED)
    add(cursor, dataset, [pair], row[0] if row else "")
    add_genes(cursor, (pert, gene), {})
    return pair


def datasets_with(cursor: Cursor, pair_ids: pa.ChunkedArray) -> list[tuple[str, int]]:
    """Return (dataset id, how many of the ids it knows), best first; datasets that know none are
    left out."""
    cursor.register("wanted", pa.table({"pair_id": pair_ids}))
    rows = cursor.execute(
        "SELECT dataset, count(*) FROM pair SEMI JOIN wanted USING (pair_id) GROUP BY dataset ORDER"
        " BY 2 DESC, 1"
    ).fetchall()
    cursor.unregister("wanted")
    return rows


def frame(cursor: Cursor, dataset: str, *, asked: bool = False) -> pd.DataFrame:
    """Return all rows of a dataset in file order: pair_id, pert, gene, label, split. asked: append
    the rows that people typed."""
    rows = data_frame(
        cursor,
        """SELECT pair_id, pert, gene, label, split, position FROM pair
           WHERE dataset = ? AND (? OR split <> ?)""",
        [dataset, asked, ASKED],
    )
    # Rows lie in their order, but for those of a file that was undone and came again: to sort a
    # million in the store takes memory and time.
    position, is_asked = rows.pop("position").to_numpy(), (rows["split"] == ASKED).to_numpy()
    if is_asked.any() or np.any(np.diff(position) < 0):
        rows = rows.take(np.lexsort((position, is_asked))).reset_index(drop=True)
    return rows


def pairs_sha256(pairs: Iterable[tuple[str, str, str]]) -> str:
    """Return the hash of (pair id, perturbation, gene) in any order."""
    return sha256_of(json.dumps(sorted(map(list, pairs))))


def delete_import(cursor: Cursor, source: str) -> int:
    """Delete the rows that came with an import, and return how many."""
    return len(cursor.execute("DELETE FROM pair WHERE import = ? RETURNING 1", [source]).fetchall())


def symbol(cursor: Cursor, name: str) -> tuple[str, str | None]:
    """Return the kind of a gene's name ("named", "RIKEN clone", …), and its description if there is
    one."""
    row = one(cursor, "SELECT naming, description FROM gene WHERE symbol = ?", [name])
    return (row[0], row[1]) if row else (symbol_kind(name), None)


def symbol_facts(cursor: Cursor, dataset: str) -> pd.DataFrame:
    """Return a table of a dataset's (id) symbols.

    Columns: symbol, pert_rows, gene_rows, up, down, none, de, unlabelled (rows in either role),
    description (None where there is none).
    """
    counts = ", ".join(f"count(*) FILTER (label = '{label}') AS \"{label}\"" for label in Label)
    return data_frame(
        cursor,
        f"""SELECT s.symbol, count(*) FILTER (role = 'pert') AS pert_rows, count(*) FILTER (role =
          'gene') AS gene_rows, {counts},
              count(*) FILTER (label IS NULL) AS unlabelled, any_value(g.description) AS description
            FROM (SELECT pert AS symbol, 'pert' AS role, label FROM pair WHERE dataset = $1 AND
              split <> '{ASKED}'
                  UNION ALL SELECT gene, 'gene', label FROM pair WHERE dataset = $1 AND split <>
                    '{ASKED}') s
            LEFT JOIN gene g ON g.symbol = s.symbol GROUP BY s.symbol""",
        [dataset],
    )
