"""A genome-wide run in the store (`bench store --rows 1000000`): imported, read, searched and scored, each in a process.

Pairs come from a CSV file; the run comes as such a run does, from a worker's journal, by the ingest that the worker uses:
rows are decoded, their briefs audited and counted. A row has 2.5 kB of text in its trace, made from a seed. Beside it stands
a plain DuckDB file: the same lines read by json, put into two tables and asked with plain SQL, nothing checked or audited,
and scikit-learn's two AUROCs without an interval. Seconds are of the wall; cpu_s is processor time, of all threads.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.metrics import roc_auc_score

from bench.measure import measure_alone, median_times
from core.actions import run_control
from core.actions.imports import import_paths
from core.actions.workspace import Workspace, open_workspace
from core.config import Settings
from core.engine.ingest import ingest_journal
from core.engine.journal import Journal
from core.engine.spec import ExecutionSettings, RunSpec
from core.methods.base import method_named
from core.scoring.run_scores import load_scored_rows, score_run
from core.stats.bootstrap import ResamplingPlan, bootstrap_score
from core.store import calls, datasets, evidence, notes, predictions, text_search, traces
from core.store.predictions import RowFilter
from core.store.text_search import TextQuery
from core.types import Prediction, RowResult, TraceEvent

RUN = "genome-wide"
GENES = 2_500  # of each perturbation
TEXT_MB = 16  # of which every text is a piece, so that few pieces are alike
BRIEF, VERDICT = 560, 130  # characters: 2.5 kB a row
SENTENCE = 13  # words
NEEDLE, NEEDLE_EVERY = "quinquereme", 9973
APPENDED_ROWS = 1_000  # at a time, to the journal
PLAIN_ROWS = 50_000  # at a time, to the plain file
ROWS_READ, PAGES_READ, SEARCHES, SCORES = 50, 10, 3, 3
PAGE = 1_000  # rows
FIRST_PAGE = RowFilter(labels=("up", "down"), outcome="miss", p_de=(0.1, 0.9))
FIRST_ORDER = "P(DE), high first"


T = TypeVar("T")


def run_large(rows: int) -> dict[str, Any]:
    """Import, read, search and score a run of so many rows; every figure measured here and now."""
    with tempfile.TemporaryDirectory() as folder:
        ours, plain = Path(folder) / "workspace", Path(folder) / "plain.duckdb"
        text_mb = measure_alone(make_files, ours, rows).result
        pairs = measure_alone(import_pairs, ours)
        imported = measure_alone(import_run, ours)
        plainly = measure_alone(import_plainly, ours, plain)
        read, read_plainly = measure_alone(read_store, ours, rows), measure_alone(read_plain, plain, rows)
        scored, scored_plainly = measure_alone(score_store, ours), measure_alone(score_plain, plain)
        bootstrapped = measure_alone(bootstrap_store, ours)
        store_mb = open_workspace(Settings(workspace=ours)).store.file.stat().st_size / 1e6
        plain_mb = plain.stat().st_size / 1e6
    differences = [abs(a - b) for a, b in zip(scored.result["aurocs"], scored_plainly.result["aurocs"], strict=True)]
    return {
        "name": "store",
        "rows": rows,
        "text_mb": text_mb,
        "store_mb": store_mb,
        "store_mb_reference": plain_mb,
        "ours_s": imported.wall_s,
        "reference_s": plainly.wall_s,
        "ratio": plainly.wall_s / imported.wall_s,
        "max_abs_diff": max(abs(imported.result - rows), abs(read.result["found"] - read_plainly.result["found"]), *differences),
        "peak_mb_ours": imported.peak_mb,
        "peak_mb_reference": plainly.peak_mb,
        "import_rows_per_s": rows / imported.wall_s,
        "import_rows_per_cpu_s": rows / imported.cpu_s,
        "import_rows_per_cpu_s_reference": rows / plainly.cpu_s,
        "pairs_rows_per_cpu_s": rows / pairs.cpu_s,
        "pairs_peak_mb": pairs.peak_mb,
        **_beside(read.result["times"], read_plainly.result["times"]),
        "reading_process_peak_mb": read.peak_mb,
        "reading_process_peak_mb_reference": read_plainly.peak_mb,
        **_beside(scored.result["times"], scored_plainly.result["times"]),
        "scoring_process_peak_mb": scored.peak_mb,
        "bootstrap_s": bootstrapped.wall_s,
        "bootstrap_cpu_s": bootstrapped.cpu_s,
        "bootstrap_peak_mb": bootstrapped.peak_mb,
    }


def _beside(ours: dict[str, tuple[float, float]], plain: dict[str, tuple[float, float]]) -> dict[str, float]:
    """Seconds and processor seconds by name, of both; some are only measured of ours."""
    sides = (("", ours), ("_reference", plain))
    return {
        f"{name}_{unit}{side}": value
        for name in ours
        for side, times in sides
        if name in times
        for unit, value in zip(("s", "cpu_s"), times[name], strict=True)
    }


def make_files(workspace: Path, rows: int) -> float:
    """pairs.csv and a run's folder with its journal, which no worker has; the MB of text in its traces."""
    workspace.mkdir(parents=True)
    rng = random.Random(0)
    perts, genes = (sorted(_symbols(rng, n), key=lambda _: rng.random()) for n in (-(-rows // GENES), GENES))
    ids = [(f"{perts[i // GENES]}_{genes[i % GENES]}", perts[i // GENES], genes[i % GENES]) for i in range(rows)]
    labels = rng.choices(["up", "down", "none"], [3, 1, 6], k=rows)
    pd.DataFrame(ids, columns=["id", "pert", "gene"]).assign(label=labels).to_csv(workspace / "pairs.csv", index=False)
    method = method_named("debate")
    spec = RunSpec("debate", method.version, {}, "", "", tuple(pair_id for pair_id, *_ in ids), "none")
    (workspace / "spec.json").write_text(json.dumps(spec.as_json()))
    folder = _workspace(workspace).run_folder("made")
    folder.path.mkdir(parents=True)
    characters = 0
    with Journal(folder) as journal:
        for some in _batches(_results(rng, spec.rows, labels), APPENDED_ROWS):
            journal.append(some)
            characters += sum(len(event.content) for row in some for event in row.events)
    return characters / 1e6


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yields lists of so many items; the last may be shorter."""
    left = iter(items)
    while some := list(islice(left, size)):
        yield some


def _symbols(rng: random.Random, n: int) -> set[str]:
    found: set[str] = set()
    while len(found) < n:
        found.add("".join(rng.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=4)) + str(rng.randrange(1, 30)))
    return found


def _results(rng: random.Random, pair_ids: tuple[str, ...], labels: list[str]) -> Iterator[RowResult]:
    """Yields a debate for each row, as an agent would have it that sees a little of the label."""
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 10))) for _ in range(5000)]
    sentences = (" ".join(rng.choices(words, k=SENTENCE)).capitalize() for _ in range(int(TEXT_MB * 1e6 / (7.5 * SENTENCE))))
    text = ". ".join(sentences)

    def piece(length: int) -> str:
        start = rng.randrange(len(text) - length)
        return text[start : start + length]

    for row, (pair_id, label) in enumerate(zip(pair_ids, labels, strict=True)):
        p_de = min(max(rng.gauss(0.35 + 0.1 * (label != "none"), 0.15), 0.0), 1.0)
        p_up = min(max(rng.gauss(0.5 + 0.1 * (label == "up"), 0.2), 0.0), 1.0)
        events = []
        for stage, roles, p in (("de", ("EFFECT", "NULL"), p_de), ("dir", ("UP", "DOWN"), p_up)):
            events += [TraceEvent(stage, role, "brief", piece(BRIEF), 140, 900.0) for role in roles]
            events.append(TraceEvent(stage, "JUDGE", "verdict", piece(VERDICT), 40, 300.0, {"p": p, "fallback": False}))
        if row % NEEDLE_EVERY == 0:
            events[1] = events[1]._replace(content=f"{events[1].content} {NEEDLE}")
        up = p_de * p_up
        yield RowResult(Prediction(pair_id, up, p_de - up, p_de, p_up, "trace", (), 900, 560, 0), tuple(events))


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
    spec = RunSpec.from_json({**json.loads((path / "spec.json").read_text()), "dataset": dataset.id})
    found = run_control.start(workspace, spec, RUN, ExecutionSettings(), begin=lambda *_: None)
    folder = workspace.run_folder(found.id)
    workspace.run_folder("made").rows.rename(folder.rows)
    return ingest_journal(workspace.store, folder, "done")


def import_plainly(workspace: Path, file: Path) -> int:
    """The journal's lines and the labels in a plain DuckDB file; how many rows."""
    [journal] = (workspace / "data" / "runs").glob("*/rows.jsonl")
    n = 0
    with duckdb.connect(str(file)) as db, journal.open() as lines:
        db.execute("CREATE TABLE pair AS SELECT * FROM read_csv(?)", [str(workspace / "pairs.csv")])
        db.execute("CREATE TABLE prediction (id VARCHAR, prediction_up DOUBLE, prediction_down DOUBLE, p_de DOUBLE)")
        db.execute("CREATE TABLE event (id VARCHAR, role VARCHAR, content VARCHAR)")
        for some in _batches(lines, PLAIN_ROWS):
            rows = [json.loads(line)["row"] for line in some]
            made = [row["prediction"] for row in rows]
            names = ("pair_id", "prediction_up", "prediction_down", "p_de")
            numbers = pa.table({name: [each[name] for each in made] for name in names})
            said = [(row["prediction"]["pair_id"], event[1], event[3]) for row in rows for event in row["events"]]
            events = pa.table(dict(zip(("id", "role", "content"), zip(*said, strict=True), strict=True)))
            db.register("numbers", numbers).execute("INSERT INTO prediction SELECT * FROM numbers")
            db.register("events", events).execute("INSERT INTO event SELECT * FROM events")
            n += len(rows)
    return n


def read_store(path: Path, rows: int) -> dict[str, Any]:
    """Medians of what pages read of a run; found: texts with the phrase, by both searches, and rows of the filter."""
    store = _workspace(path).store
    with store.read() as db:
        [dataset] = datasets.list_all(db)
        run = db.execute("SELECT id FROM run").fetchall()[0][0]
        ids = [key for (key,) in db.execute("SELECT pair_id FROM pair ORDER BY position").fetchall()]
    chosen = random.Random(1).choices(ids, k=ROWS_READ + 1)
    del ids
    found: dict[str, int] = {}

    def one_row() -> None:
        pair_id = chosen.pop()
        with store.read() as db:
            predictions.row(db, run, pair_id)
            assert len(traces.of_row(db, run, pair_id)) == 6
            evidence.of_row(db, run, pair_id)
            calls.of_row(db, run, pair_id)
            notes.of_row(db, run, pair_id)
            assert predictions.runs_with(db, dataset.id, pair_id) == [run]

    def first_page() -> None:
        with store.read() as db:
            matching = predictions.find_pair_ids(db, run, FIRST_PAGE, FIRST_ORDER)
            found["filtered"] = len(matching)
            predictions.list_rows(db, run, matching[:PAGE])

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


def read_plain(file: Path, rows: int) -> dict[str, Any]:
    """The same questions in plain SQL; the plain file has no flags, notes or calls to look for."""
    found: dict[str, int] = {}
    with duckdb.connect(str(file), read_only=True) as db:
        ids = [key for (key,) in db.execute("SELECT id FROM pair").fetchall()]
        chosen = random.Random(1).choices(ids, k=ROWS_READ + 1)
        del ids

        def one_row() -> None:
            pair_id = chosen.pop()
            db.execute("SELECT * FROM prediction JOIN pair USING (id) WHERE id = ?", [pair_id]).fetchall()
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
            db.execute("SELECT * FROM prediction JOIN pair USING (id) WHERE id IN (SELECT unnest(?))", [named]).df()

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


def score_store(path: Path) -> dict[str, Any]:
    """Times of loading the run's rows, and of its score with every interval; its AUROCs."""
    store, kept = _workspace(path).store, {}

    def load() -> None:
        with store.read() as db:
            kept["rows"] = load_scored_rows(db, RUN)

    def score() -> None:
        kept["score"] = score_run(kept["rows"])

    times = {"load": median_times(load, 1), "score": median_times(score, SCORES)}
    return {"times": times, "aurocs": [kept["score"].whole.de.value, kept["score"].whole.dir.value]}


def score_plain(file: Path) -> dict[str, Any]:
    """The two AUROCs by scikit-learn, of the same numbers, without an interval."""
    kept: dict[str, Any] = {}

    def load() -> None:
        with duckdb.connect(str(file), read_only=True) as db:
            kept["rows"] = db.execute("SELECT * FROM prediction JOIN pair USING (id)").df()

    def score() -> None:
        frame = kept["rows"]
        up, total = frame["prediction_up"].to_numpy(), (frame["prediction_up"] + frame["prediction_down"]).to_numpy()
        p_up = np.divide(up, total, out=np.zeros_like(up), where=total > 0)
        effect, is_up = (frame["label"] != "none").to_numpy(), (frame["label"] == "up").to_numpy()
        de = roc_auc_score(effect, np.round(total, 14))
        kept["aurocs"] = [float(de), float(roc_auc_score(is_up[effect], np.round(p_up[effect], 14)))]

    times = {"load": median_times(load, 1), "score": median_times(score, SCORES)}
    return {"times": times, "aurocs": kept["aurocs"]}


def bootstrap_store(path: Path) -> float:
    """The standard error of the mean by resampling rows, perturbations, genes and both, as `score` asks for it; of rows."""
    with _workspace(path).store.read() as db:
        rows = load_scored_rows(db, RUN)
    found = [
        bootstrap_score(rows.labels, rows.scores, ResamplingPlan(unit, 0), rows.pert, rows.gene)
        for unit in ("row", "pert", "gene", "two-way")
    ]
    return found[0].mean.se
