"""Files of traces of any size: pairs, and a submission of debates, ReAct, coordinator and per-seed traces over them.

The formats are those of the published files; every word is made up, from a seed. A file is written row by row, so that making
one takes no more memory than one row.
"""

from __future__ import annotations

import csv
import io
import json
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SEEDS = (42, 43, 44)
TRACE_CHARACTERS = 5_000  # of a row, about
NEEDLE = "quinquereme"  # a word that few texts hold
_COLUMNS = ("id", "prediction_up", "prediction_down", "reasoning_trace")
_COUNTS = ("tokens_used", "num_tool_calls", "prompt_tokens", "num_distinct_tools", "model_name")
_OF_SEEDS = tuple(
    f"{name}_seed{seed}"
    for seed in SEEDS
    for name in ("prediction_up", "prediction_down", "reasoning_trace")
)
_BRIEF = 900  # characters
_SIDES = {"EFFECT": "affects", "NULL": "does not affect", "UP": "increases", "DOWN": "decreases"}


def write_pairs(file: Path, rows: int) -> Path:
    """Write a challenge file of so many labelled pairs."""
    rng = random.Random(0)
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["id", "pert", "gene", "label"])
        for row in range(rows):
            writer.writerow(
                [
                    pair_id(row),
                    *pair_id(row).split("_"),
                    rng.choices(["up", "down", "none"], [3, 1, 6])[0],
                ]
            )
    return file


def pair_id(row: int) -> str:
    """The id of a row: 250 genes for each perturbation."""
    return f"Pert{row // 250}_Gene{row % 250}"


def rows_of(megabytes: float) -> int:
    """How many rows have so many megabytes of traces."""
    return round(megabytes * 1e6 / TRACE_CHARACTERS)


def write_submission(file: Path, rows: int) -> Path:
    """Write a submission of so many rows, as a CSV, or as a zip of one if the file is called so; debates are most of it."""
    if file.suffix != ".zip":
        with file.open("w", newline="") as out:
            _write_rows(out, rows)
        return file
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with (
            archive.open("submission.csv", "w", force_zip64=True) as member,
            io.TextIOWrapper(member, newline="") as out,
        ):
            _write_rows(out, rows)
        archive.writestr("prompt.txt", "Does it change?")
    return file


def _write_rows(out: io.TextIOBase, rows: int) -> None:
    writer = csv.writer(out)
    writer.writerow([*_COLUMNS, *_OF_SEEDS, *_COUNTS])
    words = Words(random.Random(1))
    for row in range(rows):
        up, down = round(words.rng.uniform(0, 0.5), 4), round(words.rng.uniform(0, 0.5), 4)
        trace, of_seeds = words.trace(row)
        seeds = [cell for text in of_seeds for cell in (up, down, text)]
        writer.writerow(
            [pair_id(row), up, down, trace, *seeds, 7_000, 7, 995, 5, "openai/gpt-oss-120b"]
        )


class Words:
    """Made-up sentences, and traces of them."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        words = [
            "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 10)))
            for _ in range(5_000)
        ]
        self._sentences = [
            " ".join(rng.choices(words, k=12)).capitalize() + "." for _ in range(20_000)
        ]

    def prose(self, characters: int) -> str:
        """Sentences of about so many characters."""
        return " ".join(self.rng.choices(self._sentences, k=max(1, characters // 90)))

    def trace(self, row: int) -> tuple[str, list[str]]:
        """The trace of a row, and its traces by seed: of ten rows seven are debates, and one has each of the other formats."""
        none = ["none"] * len(SEEDS)
        match row % 10:
            case 7:
                return json.dumps(dict(self._steps(5))), none
            case 8:
                calls = [{"agent": name, "question": self.prose(200), "trajectory": dict(self._steps(2)),
                          "answer": self.prose(300), "tokens": 512} for name in ("network", "literature")]  # fmt: skip
                return json.dumps({"coordinator": dict(self._steps(1)), "sub_agents": calls}), none
            case 9:
                return "none", [self.prose(TRACE_CHARACTERS // len(SEEDS)) for _ in SEEDS]
        return json.dumps(self._debate(row)), none

    def _debate(self, row: int) -> dict[str, Any]:
        pert, gene = pair_id(row).split("_")
        briefs = {
            side: f"Knockdown of {pert} {verb} {gene}. {self.prose(_BRIEF)} So {pert} {verb} {gene}."
            for side, verb in _SIDES.items()
        }
        if row % 13 == 0:
            briefs["NULL"] = f"C) no change. {NEEDLE}"
        verdicts = {
            "de_verdict": f"{self.prose(500)} <prob>40</prob>",
            "dir_verdict": f"{self.prose(500)} <prob>50</prob>",
        }
        return {"tool_calls": 7, "briefs": briefs, **verdicts, "P_DE": 0.4, "P_up_given_DE": 0.5}

    def _steps(self, steps: int) -> Iterator[tuple[str, Any]]:
        for step in range(steps):
            yield f"thought_{step}", self.prose(400)
            yield f"tool_name_{step}", "gene_info"
            yield f"tool_args_{step}", {"gene": "Stat1"}
            yield f"observation_{step}", self.prose(500)
