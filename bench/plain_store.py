"""A plain DuckDB file of a genome-wide run beside the store: the journal's lines read by json, put into two tables and asked with
plain SQL, nothing checked or audited; and scikit-learn's two AUROCs without an interval."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from sklearn.metrics import roc_auc_score

from bench.large_run import NEEDLE, batches
from bench.measure import median_times, times_once

PLAIN_ROWS = 50_000  # written at a time
ROWS_READ, PAGES_READ, SEARCHES, SCORES = (
    50,
    10,
    3,
    3,
)  # so often each is measured, here and of the store
PAGE = 1_000  # rows


def import_plainly(workspace: Path, file: Path) -> int:
    """The journal's lines and the labels in a plain DuckDB file; how many rows."""
    [journal] = (workspace / "data" / "runs").glob("*/rows.jsonl")
    n = 0
    with duckdb.connect(str(file)) as db, journal.open() as lines:
        db.execute(
            "SET enable_progress_bar = false"
        )  # which would stand in the JSON of the benchmark
        db.execute("CREATE TABLE pair AS SELECT * FROM read_csv(?)", [str(workspace / "pairs.csv")])
        db.execute(
            "CREATE TABLE prediction (id VARCHAR, prediction_up DOUBLE, prediction_down DOUBLE, p_de DOUBLE)"
        )
        db.execute("CREATE TABLE event (id VARCHAR, role VARCHAR, content VARCHAR)")
        for some in batches(lines, PLAIN_ROWS):
            rows = [json.loads(line)["row"] for line in some]
            made = [row["prediction"] for row in rows]
            names = ("pair_id", "prediction_up", "prediction_down", "p_de")
            numbers = pa.table({name: [each[name] for each in made] for name in names})
            said = [
                (row["prediction"]["pair_id"], event[1], event[3])
                for row in rows
                for event in row["events"]
            ]
            events = pa.table(
                dict(zip(("id", "role", "content"), zip(*said, strict=True), strict=True))
            )
            db.register("numbers", numbers).execute("INSERT INTO prediction SELECT * FROM numbers")
            db.register("events", events).execute("INSERT INTO event SELECT * FROM events")
            n += len(rows)
    return n


def read_plain(file: Path, rows: int) -> dict[str, Any]:
    """The same questions in plain SQL; the plain file has no flags, notes or calls to look for."""
    found = {}
    with duckdb.connect(str(file), read_only=True) as db:
        db.execute("SET enable_progress_bar = false")
        ids = [key for (key,) in db.execute("SELECT id FROM pair").fetchall()]
        chosen = random.Random(1).choices(ids, k=ROWS_READ + 1)
        del ids

        def one_row() -> None:
            pair_id = chosen.pop()
            db.execute(
                "SELECT * FROM prediction JOIN pair USING (id) WHERE id = ?", [pair_id]
            ).fetchall()
            assert len(db.execute("SELECT * FROM event WHERE id = ?", [pair_id]).fetchall()) == 6

        def first_page() -> None:
            matching = db.execute(
                """SELECT id FROM prediction q JOIN pair p USING (id)
                   WHERE p_de >= 0.1 AND p_de < 0.9 AND label IN ('up', 'down') AND label <> CASE
                     WHEN 1 - prediction_up - prediction_down >= greatest(prediction_up, prediction_down) THEN 'none'
                     WHEN prediction_up >= prediction_down THEN 'up' ELSE 'down' END ORDER BY p_de DESC"""
            ).fetchall()
            found["filtered"] = len(matching)
            named = [key for (key,) in matching[:PAGE]]
            db.execute(
                "SELECT * FROM prediction JOIN pair USING (id) WHERE id IN (SELECT unnest(?))",
                [named],
            ).df()

        def all_rows() -> None:
            assert len(db.execute("SELECT id FROM prediction").fetchall()) == rows

        def search() -> None:
            query = "SELECT DISTINCT id FROM event WHERE contains(lower(content), ?)"
            found["rows"] = found["texts"] = len(db.execute(query, [NEEDLE]).fetchall())

        times = {
            "row": median_times(one_row, ROWS_READ),
            "first_page": median_times(first_page, PAGES_READ),
            "all_rows": median_times(all_rows, 3),
            "search": median_times(search, SEARCHES),
        }
    return {"times": times, "found": sum(found.values())}


def score_plain(file: Path) -> dict[str, Any]:
    """The two AUROCs by scikit-learn, of the same numbers, without an interval."""
    kept = {}

    def load() -> None:
        with duckdb.connect(str(file), read_only=True) as db:
            kept["rows"] = db.execute("SELECT * FROM prediction JOIN pair USING (id)").df()

    def score() -> None:
        frame = kept["rows"]
        up, total = (
            frame["prediction_up"].to_numpy(),
            (frame["prediction_up"] + frame["prediction_down"]).to_numpy(),
        )
        p_up = np.divide(up, total, out=np.zeros_like(up), where=total > 0)
        effect, is_up = (frame["label"] != "none").to_numpy(), (frame["label"] == "up").to_numpy()
        de = roc_auc_score(effect, np.round(total, 14))
        kept["aurocs"] = [
            float(de),
            float(roc_auc_score(is_up[effect], np.round(p_up[effect], 14))),
        ]

    times = {"load": times_once(load), "score": median_times(score, SCORES)}
    return {"times": times, "aurocs": kept["aurocs"]}
