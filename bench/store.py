"""The store with 100,000 debate rows (about 250 MB of traces), beside what a person does: pandas and json in memory.

The text is made from a seed. Importing includes reading the zip, turning traces into events, and auditing every brief.
`bench store --rows N` measures a run of any size, which a worker made: see large_store.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import random
import tempfile
import time
import zipfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd

from bench.large_store import run_large
from bench.measure import alone, median_s
from core.base.config import Settings
from core.features.importing.actions import import_paths
from core.runs.workspace import Workspace, open_workspace
from core.store import changes, predictions, runs, traces
from core.store.predictions import RowFilter

__all__ = ["run", "run_large"]

ROWS = 100_000
BRIEF_WORDS = 80
MIXED_S = 30
NEEDLE = "quinquereme"  # a word that a handful of briefs hold


def run() -> dict[str, Any]:
    """Import, read, search and share a large run; every figure measured here and now."""
    with tempfile.TemporaryDirectory() as folder:
        files, workspace = Path(folder) / "files", Path(folder) / "workspace"
        text_mb, _, _ = alone(make_files, files)
        alone(import_all, files / "train.csv", workspace)
        ours, ours_s, ours_mb = alone(import_all, files / "debates.zip", workspace)
        _, reference_s, reference_mb = alone(read_as_a_person_does, files)
        reading, _, reading_mb = alone(read_and_search, workspace)
        mixed = mixed_use(Path(folder) / "mixed")
    return {
        "name": "store",
        "ours_s": ours_s,
        "reference_s": reference_s,
        "ratio": reference_s / ours_s,
        "max_abs_diff": abs(ours - ROWS),
        "peak_mb_ours": ours_mb,
        "peak_mb_reference": reference_mb,
        "rows": ROWS,
        "text_mb": text_mb,
        "import_rows_per_s": ROWS / ours_s,
        **reading,
        "reading_process_peak_mb": reading_mb,
        **mixed,
    }


def make_files(folder: Path) -> float:
    """train.csv and debates.zip in `folder`; the MB of text in the traces."""
    folder.mkdir(parents=True)
    rng = random.Random(0)
    words = [
        "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 10)))
        for _ in range(5000)
    ]
    pairs = [(f"P{i // 250}", f"G{i % 250}") for i in range(ROWS)]
    labels = rng.choices(["up", "down", "none"], [3, 1, 6], k=ROWS)
    frame = pd.DataFrame(pairs, columns=["pert", "gene"]).assign(label=labels)
    frame.insert(0, "id", frame["pert"] + "_" + frame["gene"])
    frame.to_csv(folder / "train.csv", index=False)
    frame["reasoning_trace"] = [_trace(rng, words, i) for i in range(ROWS)]
    frame["prediction_up"], frame["prediction_down"] = 0.2, 0.2
    for column, value in {"tokens_used": 900, "num_tool_calls": 7, "model_name": "none"}.items():
        frame[column] = value
    out = io.StringIO()
    frame.drop(columns=["pert", "gene", "label"]).to_csv(out, index=False)
    with zipfile.ZipFile(
        folder / "debates.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1
    ) as archive:
        archive.writestr("submission.csv", out.getvalue())
    return float(frame["reasoning_trace"].str.len().sum()) / 1e6


def _trace(rng: random.Random, words: list[str], row: int) -> str:
    briefs = {
        role: " ".join(rng.choices(words, k=BRIEF_WORDS))
        for role in ("EFFECT", "NULL", "UP", "DOWN")
    }
    if row % 9973 == 0:
        briefs["NULL"] += f" {NEEDLE}"
    verdicts = {
        "de_verdict": "<prob>40</prob>",
        "dir_verdict": "<prob>50</prob>",
        "P_DE": 0.4,
        "P_up_given_DE": 0.5,
    }
    return json.dumps({"tool_calls": 7, "briefs": briefs, **verdicts})


def _workspace(workspace: Path) -> Workspace:
    return open_workspace(Settings(workspace=workspace))


def import_all(file: Path, workspace: Path) -> int:
    """How many rows were imported."""
    [outcome] = import_paths(_workspace(workspace), [file])
    return outcome.rows


def read_as_a_person_does(files: Path) -> int:
    """The CSV with pandas, every trace with json, all in memory: nothing stored, audited or indexed."""
    with (
        zipfile.ZipFile(files / "debates.zip") as archive,
        archive.open("submission.csv") as member,
    ):
        frame = pd.read_csv(member, keep_default_na=False)
    return len([json.loads(trace) for trace in frame["reasoning_trace"]])


def read_and_search(workspace: Path) -> dict[str, float]:
    """One row's trace, a search over all briefs, the list's first page with filters: medians in ms."""
    store = _workspace(workspace).store
    with store.read() as db:
        [found] = runs.list_all(db)
    rng = random.Random(1)

    def one_row() -> None:
        with store.read() as db:
            key = f"P{rng.randrange(ROWS // 250)}_G{rng.randrange(250)}"
            assert len(traces.of_row(db, found.id, key)) == 6

    def search() -> None:
        with store.read() as db:
            assert len(predictions.find_pair_ids(db, found.id, RowFilter(text=NEEDLE))) == len(
                range(0, ROWS, 9973)
            )

    def first_page() -> None:
        with store.read() as db:
            wanted = RowFilter(labels=("up", "down"), outcome="miss", p_de=(0.1, 0.9))
            ids = predictions.find_pair_ids(db, found.id, wanted, "P(DE), high first")
            assert len(predictions.list_rows(db, found.id, ids[:1000])) == 1000

    return {
        "row_trace_ms": 1000 * median_s(one_row, 50),
        "text_search_ms": 1000 * median_s(search, 5),
        "first_page_ms": 1000 * median_s(first_page, 10),
    }


def mixed_use(workspace: Path) -> dict[str, float]:
    """One writing process and four reading ones for MIXED_S seconds: how long a writer waits."""
    with _workspace(workspace).store.read():
        pass
    with ProcessPoolExecutor(5, multiprocessing.get_context("spawn")) as pool:
        readers = [pool.submit(_keep_reading, workspace) for _ in range(4)]
        waits = sorted(pool.submit(_keep_writing, workspace).result())
        reads = sum(reader.result() for reader in readers)
    with _workspace(workspace).store.read() as db:
        lost = len(waits) - changes.versions(db)["runs"]
    return {
        "mixed_s": MIXED_S,
        "mixed_reads": reads,
        "mixed_writes": len(waits),
        "mixed_writes_lost": lost,
        "writer_wait_p95_ms": 1000 * waits[int(0.95 * len(waits))],
        "writer_wait_max_ms": 1000 * waits[-1],
    }


def _keep_reading(workspace: Path) -> int:
    store, count, end = _workspace(workspace).store, 0, time.monotonic() + MIXED_S
    while time.monotonic() < end:
        with store.read() as db:
            changes.versions(db)
        count += 1
    return count


def _keep_writing(workspace: Path) -> list[float]:
    store, waits, end = _workspace(workspace).store, [], time.monotonic() + MIXED_S
    while time.monotonic() < end:
        start = time.perf_counter()
        with store.write() as db:
            waits.append(time.perf_counter() - start)
            changes.bump(db, "runs")
    return waits
