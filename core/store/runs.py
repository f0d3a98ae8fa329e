"""Runs: one record for each set of predictions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.base.errors import InputError, NotFound, StateError
from core.base.row_schema import ROW_TABLES, local_of, utc_of
from core.base.texts import check_name, list_known
from core.base.types import FALLBACKS, READING_METHODS, TRAIN, Flag, RunRecord
from core.store.connection import Cursor
from core.store.queries import one

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(RunRecord):
    """A run in the store. dataset: an id. folded_bytes: how much of its journal is in the store.

    All of its times are local; the columns started_at and finished_at, which workers write, are in
    UTC.
    """

    dataset: str
    folded_bytes: int = 0


_COLUMNS = [*Run.__dataclass_fields__]
_OF_WORKERS = frozenset(
    {"status", "cause", "folded_bytes", "started_at", "finished_at", "evaluation"}
)
_IN_UTC = ("started_at", "finished_at")  # as the store holds them
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM run"


def add(cursor: Cursor, run: Run) -> None:
    """Create a run, dated now unless it has a date; its id must be new, its name new within the
    dataset."""
    check_name("run", run.name)
    refuse_taken_name(cursor, run.dataset, run.name)
    values = {name: getattr(run, name) for name in _COLUMNS}
    values |= {"spec": json.dumps(dict(run.spec), sort_keys=True), "parents": list(run.parents)}
    values["evaluation"] = (
        None if run.evaluation is None else json.dumps(dict(run.evaluation), sort_keys=True)
    )
    values |= {name: values[name] and utc_of(values[name]) for name in _IN_UTC}
    marks = ["coalesce(?, now()::TIMESTAMP)" if name == "created_at" else "?" for name in _COLUMNS]
    cursor.execute(
        f"INSERT INTO run ({', '.join(_COLUMNS)}) VALUES ({', '.join(marks)})",
        [values[name] for name in _COLUMNS],
    )


def refuse_taken_name(cursor: Cursor, dataset: str, name: str) -> None:
    """Raise StateError when a run of the dataset has that name."""
    if one(cursor, "SELECT 1 FROM run WHERE dataset = ? AND name = ?", [dataset, name]):
        raise StateError(
            f"run {name!r}: the name is taken in this dataset; choose another, or use --replace"
        )


def refuse_unknown_row(cursor: Cursor, run: str, pair_id: str) -> None:
    """Raise NotFound when the run has no row of that id."""
    if not one(cursor, "SELECT 1 FROM prediction WHERE run = ? AND pair_id = ?", [run, pair_id]):
        raise NotFound(f"row {pair_id!r}: not in this run")


def list_all(cursor: Cursor, dataset: str | None = None) -> list[Run]:
    """Return the runs of a dataset, or of the whole workspace, oldest first."""
    rows = cursor.execute(
        f"{_SELECT} WHERE ? IS NULL OR dataset = ? ORDER BY created_at, name", [dataset, dataset]
    ).fetchall()
    return [_record(row) for row in rows]


def list_predicting(cursor: Cursor, dataset: str | None = None) -> list[Run]:
    """Return the same without readings: the runs that can be scored, compared, fused and
    submitted."""
    return [run for run in list_all(cursor, dataset) if not run.is_reading]


def list_same(cursor: Cursor, run: Run) -> list[Run]:
    """Return the other runs of its dataset with the same predictions for the same rows, oldest
    first."""
    result = cursor.execute(
        """WITH content AS (
               SELECT run, count(*) AS n, bit_xor(hash(pair_id, prediction_up, prediction_down)) AS
                 code FROM prediction
               WHERE error IS NULL AND run IN (SELECT id FROM run WHERE dataset = ?) GROUP BY run)
           SELECT other.run FROM content own JOIN content other USING (n, code) WHERE own.run = ?
             AND other.run <> own.run""",
        [run.dataset, run.id],
    ).fetchall()
    same = {other for (other,) in result}
    return [other for other in list_predicting(cursor, run.dataset) if other.id in same]


def find(cursor: Cursor, name: str) -> Run:
    """Return the run of an id or name. Raise NotFound, or StateError if two datasets have a run of
    that name."""
    rows = cursor.execute(
        f"{_SELECT} WHERE id = ? OR name = ? ORDER BY id = ? DESC", [name] * 3
    ).fetchall()
    if not rows:
        names = [run.name for run in list_all(cursor)]
        raise NotFound(f"run {name!r}: not in this workspace, {list_known(name, names)}")
    matches = [_record(row) for row in rows]
    if len(matches) > 1 and matches[0].id != name:
        raise StateError(
            f"run {name!r}: {len(matches)} datasets have one; use an id:"
            f" {', '.join(r.id for r in matches)}"
        )
    return matches[0]


def lineage(cursor: Cursor, of: Iterable[Run]) -> list[Run]:
    """Return runs, their parents and theirs, each once, if they are still in the workspace."""
    runs_by_id = {each.id: each for each in list_all(cursor)}
    ancestors: dict[str, Run] = {}
    waiting = [run.id for run in of]
    while waiting:
        key = waiting.pop(0)
        if key in runs_by_id and key not in ancestors:
            ancestors[key] = runs_by_id[key]
            waiting += runs_by_id[key].parents
    return list(ancestors.values())


def finished_readings(cursor: Cursor, run: str) -> list[str]:
    """Return the ids of the finished readings of a run (id), newest first."""
    query = """SELECT id FROM run WHERE list_contains(?, method) AND status = 'done' AND
    list_contains(parents, ?)
               ORDER BY created_at DESC, name"""
    return [key for (key,) in cursor.execute(query, [list(READING_METHODS), run]).fetchall()]


def find_predicting(cursor: Cursor, name: str) -> Run:
    """Return the run for uses that need predictions. Raise InputError for a reading, which has
    none."""
    return refuse_reading(find(cursor, name))


def refuse_reading(run: Run) -> Run:
    """Return the run. Raise InputError if it is a reading."""
    if run.is_reading:
        raise InputError(
            f"run {run.name}: a reading of texts by {run.method}, without predictions; expected a"
            " run that predicts"
        )
    return run


def _record(row: tuple[Any, ...]) -> Run:
    values = dict(zip(_COLUMNS, row, strict=True))
    values["spec"] = json.loads(values["spec"])
    values["evaluation"] = (
        None if values["evaluation"] is None else json.loads(values["evaluation"])
    )
    values["parents"] = tuple(values["parents"])
    for name in _IN_UTC:
        values[name] = values[name] and local_of(values[name])
    return Run(**values)


def change(cursor: Cursor, run: str, **values: str | float | None) -> None:
    """Set name, note or public_score of the run with this id."""
    for column, value in values.items():
        if column not in ("name", "note", "public_score"):
            raise ValueError(f"run.{column} is not a person's to change")
        if column == "name":
            check_name("run", str(value))
        cursor.execute(f"UPDATE run SET {column} = ? WHERE id = ?", [value, run])


def change_by_worker(cursor: Cursor, run: str, **values: Any) -> None:
    """Set the columns of this run that a worker may change: status, cause, folded_bytes,
    started_at, finished_at (both local), evaluation (as JSON).
    """
    wrong = values.keys() - _OF_WORKERS
    if wrong:
        raise ValueError(f"run.{', '.join(sorted(wrong))} is not a worker's to change")
    for column, value in values.items():
        stored = utc_of(value) if column in _IN_UTC and value is not None else value
        cursor.execute(f"UPDATE run SET {column} = ? WHERE id = ?", [stored, run])


def update_counts(cursor: Cursor, run: str) -> None:
    """Set a run's counts from its rows: done, failed, fallbacks, collapsed and tokens."""
    cursor.execute(
        """UPDATE run SET done = c.done, failed = c.failed, fallbacks = c.fallbacks, collapsed =
          c.collapsed,
             tokens = c.tokens, tokens_unknown = c.unknown
           FROM (SELECT count(*) FILTER (error IS NULL) AS done, count(*) FILTER (error IS NOT NULL)
             AS failed,
                   count(*) FILTER (list_has_any(flags, ?)) AS fallbacks, count(*) FILTER
                     (list_contains(flags, ?)) AS collapsed,
                   sum(tokens) AS tokens, count(*) FILTER (tokens IS NULL) AS unknown
                 FROM prediction WHERE run = ?) c WHERE run.id = ?""",
        [[str(flag) for flag in FALLBACKS], str(Flag.ROLE_COLLAPSE), run, run],
    )


def add_spent(cursor: Cursor, run: str, tokens: int) -> None:
    """Add to the tokens that a run has paid for."""
    cursor.execute(
        "UPDATE run SET spent_tokens = coalesce(spent_tokens, 0) + ? WHERE id = ?", [tokens, run]
    )


def raise_spent(cursor: Cursor, run: str, tokens: int) -> None:
    """Set the tokens that a run has paid for, unless they are more already."""
    cursor.execute(
        "UPDATE run SET spent_tokens = greatest(coalesce(spent_tokens, 0), ?) WHERE id = ?",
        [tokens, run],
    )


def delete(cursor: Cursor, run: str) -> None:
    """Delete a run with its rows, traces and notes, and the evidence and calls that no other run
    has."""
    for table in (*ROW_TABLES, "note"):
        cursor.execute(f"DELETE FROM {table} WHERE run = ?", [run])
    cursor.execute("DELETE FROM kept_result WHERE subject = ?", [run])
    cursor.execute("DELETE FROM evidence WHERE id NOT IN (SELECT evidence FROM row_evidence)")
    cursor.execute("DELETE FROM call WHERE id NOT IN (SELECT call FROM row_call)")
    cursor.execute(
        "DELETE FROM sampled_text WHERE sample IN (SELECT id FROM text_sample WHERE run = ?)", [run]
    )
    for table in ("bundled_run", "text_sample", "text_label"):
        cursor.execute(f"DELETE FROM {table} WHERE run = ?", [run])
    cursor.execute("DELETE FROM run WHERE id = ?", [run])


def names_using_import(cursor: Cursor, source: str) -> list[str]:
    """Return names of the runs that predict a row which came with this import."""
    rows = cursor.execute(
        """SELECT DISTINCT r.name FROM pair p JOIN run r ON r.dataset = p.dataset
           JOIN prediction q ON q.run = r.id AND q.pair_id = p.pair_id WHERE p.import = ? ORDER BY
             1""",
        [source],
    ).fetchall()
    return [name for (name,) in rows]


def names_without_rows(cursor: Cursor, dataset: str) -> list[str]:
    """Return names of the runs with predictions of rows missing from their dataset (id)."""
    rows = cursor.execute(
        """SELECT DISTINCT r.name FROM run r JOIN prediction q ON q.run = r.id
           ANTI JOIN pair p ON p.dataset = r.dataset AND p.pair_id = q.pair_id WHERE r.dataset = ?
             ORDER BY 1""",
        [dataset],
    ).fetchall()
    return [name for (name,) in rows]


def label_counts(cursor: Cursor) -> pd.DataFrame:
    """Per run: run, labelled (rows with a label), unlabelled, training (labelled rows of the
    training split)."""
    return cursor.execute(
        """SELECT q.run, count(p.label) AS labelled, count(*) - count(p.label) AS unlabelled,
             count(p.label) FILTER (p.split = ?) AS training
           FROM prediction q JOIN run r ON r.id = q.run JOIN pair p ON p.dataset = r.dataset AND
             p.pair_id = q.pair_id GROUP BY q.run""",
        [TRAIN],
    ).df()


def statuses(cursor: Cursor) -> Mapping[str, str]:
    """Run id → status of every run."""
    return dict(cursor.execute("SELECT id, status FROM run").fetchall())


def folded_bytes(cursor: Cursor, run: str) -> int | None:
    """Return bytes of a run's journal that are in the store; None if the store has no such run."""
    row = one(cursor, "SELECT folded_bytes FROM run WHERE id = ?", [run])
    return None if row is None else int(row[0])


def list_labelled(cursor: Cursor, dataset: str) -> frozenset[str]:
    """Return the ids of a dataset's runs that predict at least one labelled row."""
    result = cursor.execute(
        """SELECT DISTINCT q.run FROM prediction q JOIN run r ON r.id = q.run
           JOIN pair p ON p.dataset = r.dataset AND p.pair_id = q.pair_id
           WHERE r.dataset = ? AND p.label IS NOT NULL""",
        [dataset],
    )
    return frozenset(str(run) for (run,) in result.fetchall())


def rows_with_flag(cursor: Cursor, flag: Flag) -> dict[str, int]:
    """Run id → how many of its rows carry a flag; runs without such a row are absent."""
    rows = cursor.execute(
        "SELECT run, count(*) FROM prediction WHERE list_contains(flags, ?) GROUP BY run",
        [str(flag)],
    )
    return dict(rows.fetchall())
