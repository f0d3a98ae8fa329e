"""The files of a genome-wide run, made from a seed: pairs.csv, and the journal of a debate on them with 2.5 kB of text a row;
or train.csv and run.csv, the labels and predictions of a screen, without any text."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd

from core.base.types import Prediction, RowResult, TraceEvent
from core.methods.base import method_named
from core.runs.journal import Journal
from core.runs.run_folder import RunFolder
from core.runs.spec import RunSpec

GENES = 2_500  # of each perturbation
TEXT_MB = 16  # of which every text is a piece, so that few pieces are alike
BRIEF, VERDICT = 560, 130  # characters: 2.5 kB a row
SENTENCE = 13  # words
NEEDLE, NEEDLE_EVERY = "quinquereme", 9973
APPENDED_ROWS = 1_000  # at a time, to the journal

T = TypeVar("T")


def make_files(workspace: Path, rows: int) -> float:
    """pairs.csv, spec.json and a run's folder with its journal, which no worker has; the MB of text in its traces."""
    workspace.mkdir(parents=True)
    rng = random.Random(0)
    ids = _pairs(rng, rows)
    labels = rng.choices(["up", "down", "none"], [3, 1, 6], k=rows)
    pd.DataFrame(ids, columns=["id", "pert", "gene"]).assign(label=labels).to_csv(
        workspace / "pairs.csv", index=False
    )
    method = method_named("debate")
    spec = RunSpec(
        "debate", method.version, {}, "", "", tuple(pair_id for pair_id, *_ in ids), "none"
    )
    (workspace / "spec.json").write_text(json.dumps(spec.as_json()))
    folder = RunFolder(workspace / "made")
    folder.path.mkdir(parents=True)
    characters = 0
    with Journal(folder) as journal:
        for some in batches(_results(rng, spec.rows, labels), APPENDED_ROWS):
            journal.append(some)
            characters += sum(len(event.content) for row in some for event in row.events)
    return characters / 1e6


def make_tables(folder: Path, rows: int) -> None:
    """train.csv and run.csv: the predictions see a little of the labels."""
    rng, numbers = random.Random(0), np.random.default_rng(0)
    pairs = pd.DataFrame(_pairs(rng, rows), columns=["id", "pert", "gene"])
    labels = numbers.choice(["up", "down", "none"], rows, p=[0.3, 0.1, 0.6])
    pairs.assign(label=labels).to_csv(folder / "train.csv", index=False)
    p_de = np.clip(numbers.normal(0.35 + 0.1 * (labels != "none"), 0.15), 0, 1)
    p_up = np.clip(numbers.normal(0.5 + 0.1 * (labels == "up"), 0.2), 0, 1)
    predicted = {"prediction_up": p_de * p_up, "prediction_down": p_de * (1 - p_up)}
    pairs[["id"]].assign(**predicted).to_csv(folder / "run.csv", index=False)


def _pairs(rng: random.Random, rows: int) -> list[tuple[str, str, str]]:
    """The id, the perturbation and the gene of each row."""
    perts, genes = (
        sorted(_symbols(rng, n), key=lambda _: rng.random()) for n in (-(-rows // GENES), GENES)
    )
    return [
        (f"{perts[i // GENES]}_{genes[i % GENES]}", perts[i // GENES], genes[i % GENES])
        for i in range(rows)
    ]


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yields lists of so many items; the last may be shorter."""
    left = iter(items)
    while some := list(islice(left, size)):
        yield some


def _symbols(rng: random.Random, n: int) -> set[str]:
    found = set()
    while len(found) < n:
        found.add(
            "".join(rng.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=4)) + str(rng.randrange(1, 30))
        )
    return found


def _results(
    rng: random.Random, pair_ids: tuple[str, ...], labels: list[str]
) -> Iterator[RowResult]:
    """Yields a debate for each row, as an agent would have it that sees a little of the label."""
    words = [
        "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 10)))
        for _ in range(5000)
    ]
    sentences = (
        " ".join(rng.choices(words, k=SENTENCE)).capitalize()
        for _ in range(int(TEXT_MB * 1e6 / (7.5 * SENTENCE)))
    )
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
            events.append(
                TraceEvent(
                    stage,
                    "JUDGE",
                    "verdict",
                    piece(VERDICT),
                    40,
                    300.0,
                    {"p": p, "fallback": False},
                )
            )
        if row % NEEDLE_EVERY == 0:
            events[1] = events[1]._replace(content=f"{events[1].content} {NEEDLE}")
        up = p_de * p_up
        yield RowResult(
            Prediction(pair_id, up, p_de - up, p_de, p_up, "trace", (), 900, 560, 0), tuple(events)
        )
