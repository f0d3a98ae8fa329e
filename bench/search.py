"""A phrase in 500 MB of traces of several runs, beside a plain implementation: Python's `in` over the same texts in memory.

The texts are made from a seed, a fifth of them for each run. Ours opens the store, scans it, counts by run and role, and
reads the words around the first hits. The plain one counts texts; its time is of the search alone, its memory holds the texts.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.measure import alone, median_s
from core.base.config import Settings
from core.runs.workspace import open_workspace
from core.store import Cursor, datasets, text_search
from core.store.queries import insert
from core.store.text_search import Found, TextQuery

MB = 500
RUNS = 5
WORDS_A_BRIEF = 80
ROLES = ("EFFECT", "NULL", "UP", "DOWN")
PHRASES = {"rare": "quinquereme OF bireme", "common": "e"}  # in a handful of texts, and in all
REPEATS = 5


def run() -> dict[str, Any]:
    """Search a large workspace in both ways; every figure measured here and now."""
    with tempfile.TemporaryDirectory() as folder:
        (characters, store_mb), _, _ = alone(make_workspace, Path(folder))
        (ours, counts), _, ours_mb = alone(search_store, Path(folder))
    (reference, reference_counts), _, reference_mb = alone(scan_in_memory)
    return {
        "name": "search",
        "ours_s": ours["rare"],
        "reference_s": reference["rare"],
        "ratio": reference["rare"] / ours["rare"],
        "max_abs_diff": max(abs(counts[name] - reference_counts[name]) for name in counts),
        "peak_mb_ours": ours_mb,
        "peak_mb_reference": reference_mb,
        "text_mb": characters / 1e6,
        "store_mb": store_mb,
        "runs": RUNS,
        "texts_found": counts,
        "common_s": ours["common"],
        "common_reference_s": reference["common"],
    }


def make_texts(run: int) -> Iterator[tuple[int, str, str]]:
    """Yields (row, role, text) of a run, `MB` / `RUNS` of text in all."""
    rng = random.Random(run)
    words = [
        "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 10)))
        for _ in range(5000)
    ]
    left, row = MB * 1e6 / RUNS, 0
    while left > 0:
        for role in ROLES:
            text = " ".join(rng.choices(words, k=WORDS_A_BRIEF))
            if row % 9973 == 0:
                text += " Quinquereme of\nbireme"
            left -= len(text)
            yield row, role, text
        row += 1


def make_workspace(folder: Path) -> tuple[int, float]:
    """A store with the runs' traces; (characters of text, MB of the file)."""
    store, characters = open_workspace(Settings(workspace=folder)).store, 0
    with store.write() as db:
        datasets.add(db, datasets.Dataset("bench", "bench", None, None, "imported"))
        db.execute(
            "INSERT INTO pair SELECT 'bench', i::VARCHAR, 'P', 'G', NULL, 'train', i, '' FROM range(?) r(i)",
            [int(1000 * MB)],
        )
    for number in range(RUNS):
        with store.write() as db:
            characters += _add_run(db, number)
    return characters, store.file.stat().st_size / 1e6


def _add_run(db: Cursor, number: int) -> int:
    """Add a run with its traces, as many rows as `make_texts` gives; the characters of its text."""
    rows, roles, texts = zip(*make_texts(number), strict=True)
    n = len(texts)
    db.execute(
        """INSERT INTO run BY NAME
           SELECT ? AS id, 'bench' AS dataset, ? AS name, 'debate' AS method, 'bench' AS origin, '{}' AS spec,
             [] AS parents, 'done' AS status, ? AS total, ? AS done, 0 AS failed, 0 AS fallbacks, 0 AS collapsed,
             0 AS tokens_unknown, now()::TIMESTAMP AS created_at, '' AS code_version""",
        [str(number), f"run {number}", n, n],
    )
    same = {"run": str(number), "stage": "de", "kind": "brief", "meta": "{}"}
    columns = {
        "pair_id": list(map(str, rows)),
        "role": roles,
        "content": texts,
        "seq": pa.array([0] * n, pa.int16()),
    }
    columns |= {name: pa.repeat(value, n) for name, value in same.items()}
    insert(
        db,
        "trace_event",
        columns | {"findings": pa.repeat(pa.scalar([], pa.list_(pa.string())), n)},
    )
    return sum(map(len, texts))


def search_store(folder: Path) -> tuple[dict[str, float], dict[str, int]]:
    """Seconds of each search, from opening the store to the words around the hits; how many texts each found."""
    store = open_workspace(Settings(workspace=folder)).store

    def search(phrase: str) -> Found:
        with store.read() as db:
            return text_search.search(db, "bench", TextQuery(phrase))

    seconds = {name: median_s(partial(search, phrase), REPEATS) for name, phrase in PHRASES.items()}
    return seconds, {name: search(phrase).texts for name, phrase in PHRASES.items()}


def scan_in_memory() -> tuple[dict[str, float], dict[str, int]]:
    """The same of Python's `in`, over texts that are in memory; making them is not timed."""
    texts = [text for number in range(RUNS) for _, _, text in make_texts(number)]

    def count(phrase: str) -> int:
        wanted = " ".join(phrase.lower().split())
        return sum(wanted in " ".join(text.lower().split()) for text in texts)

    seconds = {name: median_s(partial(count, phrase), 1) for name, phrase in PHRASES.items()}
    return seconds, {name: count(phrase) for name, phrase in PHRASES.items()}
