"""Predictions of runs, and searching a run's rows by labels, numbers, flags and text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from core.base.errors import NotFound
from core.base.row_schema import ROW_TABLES, TABLES
from core.base.texts import NO_LABEL
from core.base.types import RANK_METHODS, READING_METHODS, Failed, Prediction, RowResult
from core.store.connection import Cursor
from core.store.queries import (
    Insertion,
    arrow_array,
    data_frame,
    insertion,
    one,
    record_columns,
    records,
)
from core.store.text_search import contains, json_pattern_of, pattern_of
from core.store.traces import FAILED

_TABLE = TABLES["prediction"]
# What kNN noted for each row, in the run or in its parents.
_NEIGHBOURS = """neighbours AS (
  SELECT pair_id, max(TRY_CAST(json_extract(meta, '$.support') AS DOUBLE)) AS support FROM
    trace_event
  WHERE role = 'NEIGHBOURS' AND run IN (SELECT ? UNION ALL SELECT unnest(parents) FROM run WHERE id
    = ?) GROUP BY pair_id)"""
Order = Literal[
    "file order",
    "P(DE), high first",
    "P(DE), low first",
    "P(up | DE), high first",
    "P(up | DE), low first",
    "most confidently wrong first",
    "most advocates argued first",
    "most disagreement between advocates first",
    "most steps first",
    "most different tools first",
    "most failed tool calls first",
    "longest trace first",
]
CONFIDENTLY_WRONG: Order = "most confidently wrong first"
MOST_ARGUED: Order = "most advocates argued first"
ADVOCATES_DISAGREE: Order = "most disagreement between advocates first"
MOST_STEPS: Order = "most steps first"
MOST_TOOLS: Order = "most different tools first"
MOST_ERRORS: Order = "most failed tool calls first"
LONGEST: Order = "longest trace first"
BY_STEPS: tuple[Order, ...] = (MOST_STEPS, MOST_TOOLS, MOST_ERRORS, LONGEST)
_EVENTS = "FROM trace_event t WHERE t.run = q.run AND t.pair_id = q.pair_id"
# that an event t is a tool's answer about a failed call
_FAILED_CALL = f"""t.kind = 'observation' AND (json_extract_string(t.meta, '$.error') IS NOT NULL
  OR regexp_matches(t.content, '{FAILED}', 'i'))"""
# The SQL expression that an order sorts by, if it is not P(DE).
_QUANTITIES: dict[Order, str] = {
    "P(up | DE), high first": "q.p_up_given_de",
    "P(up | DE), low first": "q.p_up_given_de",
    # The run's probability of any outcome except the label.
    CONFIDENTLY_WRONG: (
        """1 - CASE p.label WHEN 'up' THEN q.prediction_up WHEN 'down' THEN q.prediction_down
      WHEN 'none' THEN 1 - q.prediction_up - q.prediction_down WHEN 'de' THEN q.prediction_up +
        q.prediction_down END"""
    ),
    MOST_ARGUED: (
        f"""(SELECT count(DISTINCT t.role) {_EVENTS}
        AND t.kind = 'brief' AND NOT list_has_any(t.findings, ['short', 'answers']))"""
    ),
    # On how many of the two questions both advocates take their own side: conclude for it, or
    # answer with its option.
    ADVOCATES_DISAGREE: (
        f"""(SELECT CAST(count(DISTINCT t.role) FILTER (t.role IN ('EFFECT', 'NULL')) = 2 AS
          INTEGER)
          + CAST(count(DISTINCT t.role) FILTER (t.role IN ('UP', 'DOWN')) = 2 AS INTEGER)
        {_EVENTS} AND t.kind = 'brief' AND list_has_any(t.findings, ['own_side', 'answers'])
          AND NOT list_has_any(t.findings, ['other_side', 'answers_against']))"""
    ),
    MOST_STEPS: f"(SELECT count(*) {_EVENTS} AND t.kind = 'tool_call')",
    MOST_TOOLS: f"(SELECT count(DISTINCT t.role) {_EVENTS} AND t.kind = 'tool_call')",
    MOST_ERRORS: f"(SELECT count(*) {_EVENTS} AND {_FAILED_CALL})",
    LONGEST: f"(SELECT sum(length(t.content)) {_EVENTS})",
}
_LOW_FIRST = ("P(DE), low first", "P(up | DE), low first")


def _quantity(order: Order) -> str:
    """Return the SQL expression of an order's quantity."""
    return _QUANTITIES.get(order, "q.p_de")


def _order_by(order: Order) -> str:
    if order == "file order":
        return "p.position"
    # many agents need equally many steps
    equal = f"{_quantity(LONGEST)} DESC, " if order in BY_STEPS else ""
    return (
        f"{_quantity(order)} {'' if order in _LOW_FIRST else 'DESC'} NULLS LAST, {equal}p.position"
    )


# The most probable of up, down and none; a tie goes to none, then to up. A rank score is not a
# probability: no call.
_CALL = f"""CASE WHEN q.prediction_up IS NULL OR r.method IN {RANK_METHODS} THEN NULL
  WHEN 1 - q.prediction_up - q.prediction_down >= greatest(q.prediction_up, q.prediction_down) THEN
    'none'
  WHEN q.prediction_up >= q.prediction_down THEN 'up' ELSE 'down' END"""
# A change of unknown direction is hit by either direction.
_HIT = f"CASE WHEN p.label = 'de' THEN ({_CALL}) IN ('up', 'down') ELSE ({_CALL}) = p.label END"
_OUTCOME = f"CASE {_HIT} WHEN true THEN 'hit' WHEN false THEN 'miss' END AS outcome"
_FROM = """prediction q JOIN run r ON r.id = q.run JOIN pair p ON p.dataset = r.dataset AND
  p.pair_id = q.pair_id
  LEFT JOIN gene g ON g.symbol = p.gene"""


# How often a row's gene occurs in its split: a name for people → fewest, most rows.
GENE_ROWS = {
    "1": (1, 1),
    "2–3": (2, 3),
    "4–7": (4, 7),
    "8–15": (8, 15),
    "16 or more": (16, 2**31 - 1),
}


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which rows of a run to list; an empty value does not restrict.

    labels: up, down, none, unknown. outcome: "hit" if the most probable of up, down and none is the
    label (up or down if the label is de), "miss" if it is not; rows of rank scores are neither.
    p_de, p_up: ranges, closed below and open above unless 1. gene_rows: a key of GENE_ROWS.
    finding: (role, what the audit found), such as ("UP", "option"), or ("any", …) for a brief of
    any role. arguing: how many advocates wrote a brief that is not short, of rows that have briefs.
    text: searched in traces, dossiers and both gene symbols (see `text_search`). failed: only rows
    without a prediction.
    """

    labels: tuple[str, ...] = ()
    outcome: str = ""
    p_de: tuple[float, float] = (0.0, 1.0)
    p_up: tuple[float, float] = (0.0, 1.0)
    pert: str = ""
    gene: str = ""
    naming: str = ""
    split: str = ""
    gene_rows: str = ""
    flags: tuple[str, ...] = ()
    noted: bool = False
    finding: tuple[str, str] | None = None
    arguing: int | None = None
    text: str = ""
    failed: bool = False


def insertion_of(run: str, rows: Sequence[RowResult], flags: Sequence[Sequence[str]]) -> Insertion:
    """Return finished rows. flags: one list per row, which contains the row's own flags."""
    predictions = [row.prediction for row in rows]
    columns = record_columns(_TABLE.columns_of(Prediction, without=["flags"]), predictions)
    return insertion(
        "prediction",
        {"run": pa.repeat(run, len(rows)), **columns, "flags": arrow_array(_TABLE["flags"], flags)},
    )


def insertion_of_columns(run: str, columns: Mapping[str, Sequence[Any]]) -> Insertion:
    """Return finished rows by the fields of `Prediction`, each of shape (n_rows,)."""
    arrays = {name: arrow_array(_TABLE[name], values) for name, values in columns.items()}
    return insertion("prediction", {"run": pa.repeat(run, len(columns["pair_id"])), **arrays})


def insertion_of_failed(run: str, rows: Sequence[Failed]) -> Insertion:
    """Return rows that failed: numbers are NULL, `error` is the kind and message, tokens are those
    of the calls."""
    prompts = [sum(call.prompt_tokens for call in row.calls) for row in rows]
    answers = [sum(call.completion_tokens for call in row.calls) for row in rows]
    columns: dict[str, Any] = {
        "run": pa.repeat(run, len(rows)),
        "pair_id": pa.array([row.pair_id for row in rows], pa.string()),
        "flags": arrow_array(_TABLE["flags"], [()] * len(rows)),
        "error": pa.array([f"{row.kind}: {row.message}" for row in rows], pa.string()),
        "tokens": arrow_array(
            _TABLE["tokens"], [sum(both) for both in zip(prompts, answers, strict=True)]
        ),
        "prompt_tokens": arrow_array(_TABLE["prompt_tokens"], prompts),
    }
    return insertion("prediction", columns)


def delete(cursor: Cursor, run: str, pair_ids: Sequence[str]) -> None:
    """Delete rows of a run; notes on them stay. Calls and evidence stay until `runs.delete`."""
    cursor.register("deleted", pa.table({"pair_id": pa.array(list(pair_ids), pa.string())}))
    try:
        any_row = one(
            cursor,
            "SELECT 1 FROM prediction SEMI JOIN deleted USING (pair_id) WHERE run = ? LIMIT 1",
            [run],
        )
        for table in ROW_TABLES if any_row else ():
            cursor.execute(
                f"DELETE FROM {table} WHERE run = ? AND pair_id IN (SELECT pair_id FROM deleted)",
                [run],
            ).fetchall()
    finally:
        cursor.unregister("deleted")


_Clause = tuple[str, tuple[Any, ...]]  # a condition, and its parameters


def _where(run: str, wanted: RowFilter) -> tuple[str, list[Any]]:
    clauses = [("q.run = ?", (run,)), *_row_clauses(run, wanted), *_trace_clauses(run, wanted)]
    return " AND ".join(clause for clause, _ in clauses), [
        value for _, values in clauses for value in values
    ]


def _row_clauses(run: str, wanted: RowFilter) -> Iterator[_Clause]:
    """Yield a filter's conditions on rows, predictions and notes."""
    if wanted.labels:
        yield f"list_contains(?, coalesce(p.label, '{NO_LABEL}'))", (list(wanted.labels),)
    if wanted.outcome:
        yield f"p.label IS NOT NULL AND ({_HIT}) = ?", (wanted.outcome == "hit",)
    for column, (low, high) in (("q.p_de", wanted.p_de), ("q.p_up_given_de", wanted.p_up)):
        if (low, high) != (0.0, 1.0):
            yield f"{column} >= ? AND ({column} < ? OR ? = 1)", (low, high, high)
    exact = {
        "p.pert": wanted.pert,
        "p.gene": wanted.gene,
        "g.naming": wanted.naming,
        "p.split": wanted.split,
    }
    for column, value in exact.items():
        if value:
            yield f"{column} = ?", (value,)
    if wanted.gene_rows:
        yield (
            """(p.split, p.gene) IN (SELECT split, gene FROM pair WHERE dataset = (SELECT dataset
              FROM run WHERE id = ?)
                 GROUP BY split, gene HAVING count(*) BETWEEN ? AND ?)""",
            (run, *GENE_ROWS[wanted.gene_rows]),
        )
    if wanted.flags:
        yield "list_has_any(q.flags, ?)", (list(wanted.flags),)
    if wanted.failed:
        yield "q.error IS NOT NULL", ()
    if wanted.noted:
        yield "q.pair_id IN (SELECT pair_id FROM note WHERE run = ?)", (run,)


def _trace_clauses(run: str, wanted: RowFilter) -> Iterator[_Clause]:
    """Yield a filter's conditions on traces and dossiers."""
    if wanted.finding:
        yield (
            """q.pair_id IN (SELECT pair_id FROM trace_event WHERE run = ? AND kind = 'brief' AND ?
              IN (role, 'any')
                 AND list_contains(findings, ?))""",
            (run, *wanted.finding),
        )
    if wanted.arguing is not None:
        yield (
            """q.pair_id IN (SELECT pair_id FROM trace_event WHERE run = ? AND kind = 'brief' GROUP
              BY pair_id
                 HAVING count(DISTINCT role) FILTER (NOT list_contains(findings, 'short')) = ?)""",
            (run, wanted.arguing),
        )
    if wanted.text.strip():
        pattern = pattern_of(wanted.text)
        yield (
            f"""({contains("p.pert || ' ' || p.gene")} OR q.pair_id IN (
                 SELECT pair_id FROM trace_event WHERE run = ? AND {contains("content")}
                 UNION ALL SELECT pair_id FROM row_evidence WHERE run = ? AND evidence IN (
                   SELECT id FROM evidence WHERE {contains("body")})))""",
            (pattern, run, pattern, run, json_pattern_of(wanted.text)),
        )


def find_pair_ids(
    cursor: Cursor, run: str, wanted: RowFilter, order: Order = "file order"
) -> list[str]:
    """Return the pair ids of the rows that match a filter, in order."""
    where, values = _where(run, wanted)
    rows = cursor.execute(
        f"SELECT q.pair_id FROM {_FROM} WHERE {where} ORDER BY {_order_by(order)}", values
    )
    # many ids: tuples of one take three times as long
    return cast(list[str], rows.fetchnumpy()["pair_id"].tolist())


def list_rows(
    cursor: Cursor, run: str, pair_ids: Sequence[str], order: Order = "file order"
) -> pd.DataFrame:
    """Return the named rows of a run, in that order.

    Columns: pair_id, pert, gene, label, p_de, p_up_given_de, quantity, outcome, flags, notes
    (count). quantity: what the order counts of the row, P(DE) in file order. outcome: "hit" or
    "miss" (see `RowFilter`); None without a label or a call.
    """
    cursor.register("wanted", pa.table({"pair_id": list(pair_ids), "place": range(len(pair_ids))}))
    frame = cursor.execute(
        f"""SELECT q.pair_id, p.pert, p.gene, p.label, q.p_de, q.p_up_given_de, q.flags,
              CAST({_quantity(order)} AS DOUBLE) AS quantity, {_OUTCOME},
              (SELECT count(*) FROM note n WHERE n.run = q.run AND n.pair_id = q.pair_id) AS notes
            FROM {_FROM} JOIN wanted w ON w.pair_id = q.pair_id WHERE q.run = ? ORDER BY w.place""",
        [run],
    ).df()
    cursor.unregister("wanted")
    return frame


def frame(cursor: Cursor, run: str) -> pd.DataFrame:
    """Return all predicted rows of a run in file order, with pert, gene, label and split beside
    every column of the prediction.

    Rows that failed are left out: they have no numbers. support: the weight of the neighbours
    behind a kNN's prior, its own or its parent's; NaN if there is no kNN.
    """
    return data_frame(
        cursor,
        f"""WITH {_NEIGHBOURS}
            SELECT p.pert, p.gene, p.label, p.split, q.* EXCLUDE (run), n.support
            FROM {_FROM} LEFT JOIN neighbours n ON n.pair_id = q.pair_id
            WHERE q.run = ? AND q.error IS NULL ORDER BY p.position""",
        [run, run, run],
    )


def scored_columns(cursor: Cursor, run: str) -> pd.DataFrame:
    """Return the columns for a score of the rows of `frame`, in any order.

    Columns: pair_id, prediction_up, prediction_down, p_de, p_up_given_de, flags, support. To join
    and sort a million rows in the store takes 300 MB, and who scores them has their pairs already.
    Without a join, which a kNN alone needs, they come as they were written: mostly in file order.
    """
    columns = "q.pair_id, q.prediction_up, q.prediction_down, q.p_de, q.p_up_given_de, q.flags"
    rows = f"{columns}, NULL::DOUBLE AS support FROM prediction q"
    has_neighbours = one(cursor, f"WITH {_NEIGHBOURS} SELECT 1 FROM neighbours LIMIT 1", [run, run])
    if has_neighbours:
        neighbours = "LEFT JOIN neighbours n ON n.pair_id = q.pair_id"
        rows = f"{columns}, n.support FROM prediction q {neighbours}"
    query = f"WITH {_NEIGHBOURS} SELECT {rows} WHERE q.run = ? AND q.error IS NULL"
    return data_frame(cursor, query, [run, run, run])


def row(cursor: Cursor, run: str, pair_id: str) -> dict[str, Any]:
    """Return one row as a mapping of every column, with dataset, pert, gene, label, split, call,
    outcome, and both genes' facts.

    call: the most probable of up, down and none; None for a rank score. outcome: as in `list_rows`.

    Raise NotFound if the run has no such row.
    """
    return row_and_runs(cursor, run, pair_id)[0]


def row_and_runs(cursor: Cursor, run: str, pair_id: str) -> tuple[dict[str, Any], list[str]]:
    """Return what `row` and `runs_with` return, in one pass over the predictions. Raise NotFound if
    the run lacks the row."""
    places = _rowid_by_run(cursor, pair_id)
    if run not in places:
        raise NotFound(f"row {pair_id!r}: not in this run")
    [rows] = records(
        cursor,
        f"""SELECT q.*, r.dataset, p.pert, p.gene, p.label, p.split, {_CALL} AS call, {_OUTCOME},
              g.naming, g.description, h.description AS pert_description
            FROM {_FROM} LEFT JOIN gene h ON h.symbol = p.pert WHERE q.rowid = ? AND p.pair_id =
              ?""",
        [places[run], pair_id],
    )
    return rows, _select_predicting_runs(cursor, rows["dataset"], places)


def whole_rows(cursor: Cursor, run: str) -> list[dict[str, Any]]:
    """Return every row of a run in file order, failures included, with pert, gene, label and
    outcome as of `row`."""
    columns = f"q.* EXCLUDE (run), p.pert, p.gene, p.label, {_OUTCOME}"
    return records(
        cursor, f"SELECT {columns} FROM {_FROM} WHERE q.run = ? ORDER BY p.position", [run]
    )


def _rowid_by_run(cursor: Cursor, pair_id: str) -> dict[str, int]:
    """Return run id → the current row number of its prediction of a pair, found by the index of
    ids."""
    return dict(
        cursor.execute("SELECT run, rowid FROM prediction WHERE pair_id = ?", [pair_id]).fetchall()
    )


def _select_predicting_runs(cursor: Cursor, dataset: str, run_ids: Iterable[str]) -> list[str]:
    """Return the runs, among some, that predict rows of a dataset, oldest first."""
    rows = cursor.execute(
        """SELECT id FROM run WHERE dataset = ? AND list_contains(?, id) AND NOT list_contains(?,
          method)
           ORDER BY created_at, name""",
        [dataset, list(run_ids), list(READING_METHODS)],
    )
    return [key for (key,) in rows.fetchall()]


def all_ids(cursor: Cursor, run: str) -> set[str]:
    """Return the ids of all finished rows of a run, also of those that failed."""
    return {
        pair_id
        for (pair_id,) in cursor.execute(
            "SELECT pair_id FROM prediction WHERE run = ?", [run]
        ).fetchall()
    }


def p_de_of(cursor: Cursor, run: str) -> NDArray[np.float64]:
    """Return P(DE) of every row of a run, of shape (n_rows,); NaN if missing."""
    column = cursor.execute(
        "SELECT p_de FROM prediction WHERE run = ? AND error IS NULL", [run]
    ).fetchnumpy()["p_de"]
    return np.ma.filled(column, np.nan)


def flag_counts(cursor: Cursor, run: str) -> dict[str, int]:
    """Return how many rows of a run carry each flag; flags that none carries are absent."""
    rows = cursor.execute(
        "SELECT f, count(*) FROM (SELECT unnest(flags) AS f FROM prediction WHERE run = ?) GROUP BY"
        " f ORDER BY f",
        [run],
    )
    return dict(rows.fetchall())


def filter_choices(cursor: Cursor, run: str) -> dict[str, list[str]]:
    """Return the values that a run's rows can be filtered by: pert, gene, label, naming, split and
    flag, each sorted."""
    columns = {
        "pert": "p.pert",
        "gene": "p.gene",
        "label": f"coalesce(p.label, '{NO_LABEL}')",
        "naming": "coalesce(g.naming, 'named')",
        "split": "p.split",
    }
    lists = ", ".join(f"list_sort(list(DISTINCT {expression}))" for expression in columns.values())
    choices = one(cursor, f"SELECT {lists} FROM {_FROM} WHERE q.run = ?", [run]) or ()
    flags = cursor.execute(
        "SELECT DISTINCT unnest(flags) AS f FROM prediction WHERE run = ? ORDER BY f", [run]
    ).fetchall()
    return {name: values or [] for name, values in zip(columns, choices, strict=True)} | {
        "flag": [flag for (flag,) in flags]
    }


def runs_with(cursor: Cursor, dataset: str, pair_id: str) -> list[str]:
    """Return ids of the runs of a dataset that predict a row, oldest first; readings predict
    none."""
    return _select_predicting_runs(cursor, dataset, _rowid_by_run(cursor, pair_id))


def shared_row_counts(cursor: Cursor, run: str) -> dict[str, int]:
    """Return run id → number of rows in common with a run, for other runs of its dataset with
    common rows, without readings; oldest first.
    """
    rows = cursor.execute(
        """SELECT o.id, count(*) FROM run r JOIN run o ON o.dataset = r.dataset AND o.id <> r.id
           JOIN prediction q ON q.run = r.id JOIN prediction p ON p.run = o.id AND p.pair_id =
             q.pair_id
           WHERE r.id = ? AND NOT list_contains(?, o.method) GROUP BY o.id, o.created_at, o.name
           ORDER BY o.created_at, o.name""",
        [run, list(READING_METHODS)],
    )
    return dict(rows.fetchall())


def rows_of_symbol(cursor: Cursor, dataset: str, role: str, symbol: str) -> pd.DataFrame:
    """Return every row of a symbol in one role ("pert" or "gene"), with the predictions of the
    dataset's runs, not with readings.

    Columns pair_id, pert, gene, label, split, run (id, None if no run has the row), p_de,
    p_up_given_de, flags.
    """
    if role not in ("pert", "gene"):
        raise ValueError(f"role {role!r}, expected pert or gene")
    return cursor.execute(
        f"""SELECT p.pair_id, p.pert, p.gene, p.label, p.split, q.run, q.p_de, q.p_up_given_de,
          q.flags
            FROM pair p LEFT JOIN (prediction q JOIN run r ON r.id = q.run AND NOT list_contains(?,
              r.method))
              ON q.pair_id = p.pair_id AND r.dataset = p.dataset
            WHERE p.dataset = ? AND p.{role} = ? ORDER BY p.position, r.created_at, r.name""",
        [list(READING_METHODS), dataset, symbol],
    ).df()
