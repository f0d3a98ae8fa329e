"""A run in the store, of 100,000 rows or as many as `bench store --rows N` says: imported, read, searched and scored, each in a process.

Pairs come from a CSV file; the run comes as such a run does, from a worker's journal, by the ingest that the worker uses:
rows are decoded, their briefs audited and counted. `large_run` makes both; `plain_store` does the same in a plain DuckDB file.
Seconds are of the wall; cpu_s is processor time, of all threads and of the processes that a piece of work started.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench import plain_store
from bench.large_run import NEEDLE, make_files
from bench.measure import measure_alone, measure_command, median_times, times_once
from bench.plain_store import (
    PAGES_READ,
    ROWS_READ,
    SCORES,
    SEARCHES,
    import_plainly,
    read_plain,
    score_plain,
)
from core.base.config import Settings
from core.base.records import from_json
from core.features.importing.actions import import_paths
from core.runs import run_control
from core.runs.ingest import ingest_journal
from core.runs.run_state import Counts, write_ending
from core.runs.spec import ExecutionSettings, RunSpec
from core.runs.workspace import Workspace, open_workspace
from core.scoring.run_scores import load_scored_rows, score_run
from core.stats.bootstrap import ResamplingPlan, bootstrap_score
from core.store import calls, datasets, evidence, notes, predictions, text_search, traces
from core.store.predictions import RowFilter
from core.store.text_search import TextQuery

RUN, ROWS = "genome-wide", 100_000
FIRST_PAGE = RowFilter(labels=("up", "down"), outcome="miss", p_de=(0.1, 0.9))
FIRST_ORDER = "P(DE), high first"


def run() -> dict[str, Any]:
    """`run_large` of as many rows as fit into minutes."""
    return run_large(ROWS)


def run_large(rows: int) -> dict[str, Any]:
    """Import, read, search and score a run of so many rows; every figure measured here and now."""
    with tempfile.TemporaryDirectory() as folder:
        ours, plain = Path(folder) / "workspace", Path(folder) / "plain.duckdb"
        text_mb = measure_alone(make_files, ours, rows).result
        pairs = measure_alone(import_pairs, ours)
        imported = measure_alone(import_run, ours)
        plainly = measure_alone(import_plainly, ours, plain)
        read, read_plainly = (
            measure_alone(read_store, ours, rows),
            measure_alone(read_plain, plain, rows),
        )
        scored, scored_plainly = measure_alone(score_store, ours), measure_alone(score_plain, plain)
        command = measure_command(
            [sys.executable, "-m", "core", "--workspace", str(ours), "score", RUN]
        )
        bootstrapped = measure_alone(bootstrap_store, ours)
        store_mb = open_workspace(Settings(workspace=ours)).store.file.stat().st_size / 1e6
        plain_mb = plain.stat().st_size / 1e6
    differences = [
        abs(a - b)
        for a, b in zip(scored.result["aurocs"], scored_plainly.result["aurocs"], strict=True)
    ]
    return {
        "name": "store",
        "rows": rows,
        "text_mb": text_mb,
        "store_mb": store_mb,
        "store_mb_reference": plain_mb,
        "ours_s": imported.wall_s,
        "reference_s": plainly.wall_s,
        "ratio": plainly.wall_s / imported.wall_s,
        "max_abs_diff": max(
            abs(imported.result - rows),
            abs(read.result["found"] - read_plainly.result["found"]),
            *differences,
        ),
        "peak_mb_ours": imported.peak_mb,
        "peak_mb_of_a_helper": imported.child_peak_mb,
        "peak_mb_reference": plainly.peak_mb,
        "import_rows_per_s": rows / imported.wall_s,
        "import_rows_per_cpu_s": rows / imported.cpu_s,
        "import_rows_per_cpu_s_reference": rows / plainly.cpu_s,
        "pairs_rows_per_cpu_s": rows / pairs.cpu_s,
        "pairs_peak_mb": pairs.peak_mb,
        **_merge_times(read.result["times"], read_plainly.result["times"]),
        "reading_process_peak_mb": read.peak_mb,
        "reading_process_peak_mb_reference": read_plainly.peak_mb,
        **_merge_times(scored.result["times"], scored_plainly.result["times"]),
        "scoring_process_peak_mb": scored.peak_mb,
        "score_command_s": command.wall_s,
        "score_command_cpu_s": command.cpu_s,
        "score_command_peak_mb": command.peak_mb,
        "bootstrap_s": bootstrapped.wall_s,
        "bootstrap_cpu_s": bootstrapped.cpu_s,
        "bootstrap_peak_mb": bootstrapped.peak_mb,
    }


def _merge_times(
    ours: dict[str, tuple[float, float]], plain: dict[str, tuple[float, float]]
) -> dict[str, float]:
    """Seconds and processor seconds by name, of both; some are only measured of ours."""
    sides = (("", ours), ("_reference", plain))
    return {
        f"{name}_{unit}{side}": value
        for name in ours
        for side, times in sides
        if name in times
        for unit, value in zip(("s", "cpu_s"), times[name], strict=True)
    }


def _workspace(workspace: Path) -> Workspace:
    return open_workspace(Settings(workspace=workspace))


def import_pairs(workspace: Path) -> int:
    """How many pairs were imported."""
    [outcome] = import_paths(_workspace(workspace), [workspace / "pairs.csv"])
    return outcome.rows


def import_run(path: Path) -> int:
    """Take the journal over as that of a run of this workspace, and bring the store up to date with it; how many rows."""
    workspace = _workspace(path)
    with workspace.store.read() as db:
        [dataset] = datasets.list_all(db)
    spec = from_json(
        RunSpec,
        {**json.loads((path / "spec.json").read_text()), "dataset": dataset.id},
        "spec.json",
    )
    found = run_control.start(workspace, spec, RUN, ExecutionSettings(), begin=lambda *_: None)
    folder = workspace.run_folder(found.id)
    (path / "made" / folder.rows.name).rename(folder.rows)
    write_ending(folder, "done", Counts(done=found.total), found.total)
    return ingest_journal(workspace.store, folder, "done")


def read_store(path: Path, rows: int) -> dict[str, Any]:
    """Medians of what pages read of a run; found: texts with the phrase, by both searches, and rows of the filter."""
    store = _workspace(path).store
    with store.read() as db:
        [dataset] = datasets.list_all(db)
        run = db.execute("SELECT id FROM run").fetchall()[0][0]
        ids = [
            key for (key,) in db.execute("SELECT pair_id FROM pair ORDER BY position").fetchall()
        ]
    chosen = random.Random(1).choices(ids, k=ROWS_READ + 1)
    del ids
    found = {}

    def one_row() -> None:
        pair_id = chosen.pop()
        with store.read() as db:
            _, runs = predictions.row_and_runs(db, run, pair_id)
            assert runs == [run]
            assert len(traces.of_row(db, run, pair_id)) == 6
            evidence.of_row(db, run, pair_id)
            calls.of_row(db, run, pair_id)
            notes.of_row(db, run, pair_id)

    def first_page() -> None:
        with store.read() as db:
            matching = predictions.find_pair_ids(db, run, FIRST_PAGE, FIRST_ORDER)
            found["filtered"] = len(matching)
            predictions.list_rows(db, run, matching[: plain_store.PAGE])

    def all_rows() -> None:
        with store.read() as db:
            assert len(predictions.find_pair_ids(db, run, RowFilter())) == rows

    def filters() -> None:
        with store.read() as db:
            predictions.filter_choices(db, run)

    def search_run() -> None:
        with store.read() as db:
            found["rows"] = len(predictions.find_pair_ids(db, run, RowFilter(text=NEEDLE)))

    def search_all() -> None:
        with store.read() as db:
            found["texts"] = text_search.search(db, dataset.id, TextQuery(NEEDLE)).texts

    times = {
        "row": median_times(one_row, ROWS_READ),
        "first_page": median_times(first_page, PAGES_READ),
        "all_rows": median_times(all_rows, 3),
        "filter_choices": median_times(filters, 3),
        "search": median_times(search_run, SEARCHES),
        "search_all_runs": median_times(search_all, SEARCHES),
    }
    return {"times": times, "found": sum(found.values())}


def score_store(path: Path) -> dict[str, Any]:
    """Times of loading the run's rows, and of its score with every interval; its AUROCs."""
    store, kept = _workspace(path).store, {}

    def load() -> None:
        with store.read() as db:
            kept["rows"] = load_scored_rows(db, RUN)

    def score() -> None:
        kept["score"] = score_run(kept["rows"])

    times = {"load": times_once(load), "score": median_times(score, SCORES)}
    return {"times": times, "aurocs": [kept["score"].whole.de.value, kept["score"].whole.dir.value]}


def bootstrap_store(path: Path) -> float:
    """The standard error of the mean by resampling perturbations and genes, as `score --bootstrap` does."""
    with _workspace(path).store.read() as db:
        rows = load_scored_rows(db, RUN)
    return bootstrap_score(
        rows.labels, rows.scores, ResamplingPlan("two-way", 0), rows.pert, rows.gene
    ).mean.se
