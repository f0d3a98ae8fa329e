"""Labels and predictions of a screen, of 200,000 rows or as many as `bench tables --rows N` says: imported and scored by commands.

Beside each command a floor, measured in the same run: pandas.read_csv and DuckDB's insert for an import, which check
nothing; one pass of DeLong over DE and DIR by SciPy's ranks for the score, whose rows are in memory. A command's seconds
hold its start, and an import of predictions holds the score that is kept with them. Ratios are of processor time.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from scipy.stats import rankdata

from bench.large_run import make_tables
from bench.measure import Measured, measure_alone, measure_command, times_once
from core.stats.arrays import Bools, Floats

ROWS = 200_000


def run() -> dict[str, Any]:
    """`run_large` of as many rows as fit into a minute."""
    return run_large(ROWS)


def run_large(rows: int) -> dict[str, Any]:
    """Import and score so many rows; the ratios, seconds and peak memory of each command and of its floor."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_tables(folder, rows)
        labels, labels_plainly = _command(folder, "import", "train.csv"), _floor(folder, "train")
        predicted, predicted_plainly = _command(folder, "import", "run.csv"), _floor(folder, "run")
        scored = _command(folder, "score", "run", "--no-bootstrap")
        aurocs, floor = measure_alone(score_plainly, folder / "plain.duckdb").result
    of_command = json.loads(scored.result)
    return {
        "name": "tables",
        "rows": rows,
        **_columns("import_labels", labels, labels_plainly.wall_s, labels_plainly.cpu_s),
        **_columns("import_run", predicted, predicted_plainly.wall_s, predicted_plainly.cpu_s),
        **_columns("score", scored, *floor),
        "ours_s": labels.wall_s + predicted.wall_s + scored.wall_s,
        "reference_s": labels_plainly.wall_s + predicted_plainly.wall_s + floor[0],
        "max_abs_diff": max(
            abs(of_command[question]["estimate"] - auroc)
            for question, auroc in zip(("de", "dir"), aurocs, strict=True)
        ),
    }


def _command(folder: Path, command: str, what: str, *options: str) -> Measured:
    what = str(folder / what) if command == "import" else what
    words = (sys.executable, "-m", "core", "--workspace", str(folder / "workspace"))
    return measure_command([*words, command, what, *options, "--json"])


def _floor(folder: Path, name: str) -> Measured:
    return measure_alone(insert_plainly, folder / f"{name}.csv", folder / "plain.duckdb", name)


def _columns(what: str, ours: Measured, floor_s: float, floor_cpu_s: float) -> dict[str, float]:
    return {
        f"{what}_ratio": ours.cpu_s / floor_cpu_s,
        f"{what}_s": ours.wall_s,
        f"{what}_cpu_s": ours.cpu_s,
        f"{what}_s_reference": floor_s,
        f"{what}_cpu_s_reference": floor_cpu_s,
        f"{what}_peak_mb": ours.peak_mb,
    }


def insert_plainly(file: Path, store: Path, table: str) -> None:
    """The rows of a file as pandas reads them, in a table of DuckDB."""
    frame = pd.read_csv(file)
    with duckdb.connect(str(store)) as db:
        db.register("frame", frame).execute(f"CREATE TABLE {table} AS SELECT * FROM frame")


def score_plainly(store: Path) -> tuple[list[float], tuple[float, float]]:
    """DE and DIR, and the seconds and processor seconds of both with their standard errors."""
    with duckdb.connect(str(store), read_only=True) as db:
        frame = db.execute("SELECT * FROM run JOIN train USING (id)").df()
    up, total = frame["prediction_up"].to_numpy(), frame[["prediction_up", "prediction_down"]]
    p_de = total.sum(axis=1).to_numpy()
    effect, is_up = (frame["label"] != "none").to_numpy(), (frame["label"] == "up").to_numpy()
    share = np.divide(up, p_de, out=np.zeros_like(up), where=p_de > 0)
    aurocs = []

    def both() -> None:
        for positive, values in ((effect, p_de), (is_up[effect], share[effect])):
            aurocs.append(delong(positive, np.round(values, 14))[0])

    return aurocs, times_once(both)


def delong(positive: Bools, values: Floats) -> tuple[float, float]:
    """An AUROC and its standard error by three rankings (Sun and Xu 2014)."""
    every, hits, misses = (rankdata(part) for part in (values, values[positive], values[~positive]))
    of_hits = (every[positive] - hits) / len(misses)
    of_misses = 1 - (every[~positive] - misses) / len(hits)
    variance = of_hits.var(ddof=1) / len(hits) + of_misses.var(ddof=1) / len(misses)
    return float(of_hits.mean()), float(np.sqrt(variance))
