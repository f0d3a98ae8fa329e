"""Submissions in which nothing is wrong, to plant defects into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from core.base.types import Track
from core.features.importing.problems import Problem
from core.features.submissions.parsed import LAYOUTS, RunProvenance
from core.features.submissions.rules import check
from tests.cases import as_csv, zip_of

IDS = tuple(f"P{i}_G{i}" for i in range(12))
HOW = (
    *("directly", "through STAT", "in the nucleus", "late", "with others", "as a repressor"),
    *("by splicing", "at its promoter", "through RNA", "weakly", "under stress", "in the membrane"),
)
PROMPT = "Say what losing {pert} does to {gene}: A) up, B) down, C) none."
TOOL = b"def ask(pert: str, gene: str) -> dict:\n    return {}\n"


@dataclass
class Sound:
    """A zip's parts: header and rows (column → cell) of submission.csv, and the other members; `name` of the CSV's."""

    track: Track
    header: list[str]
    rows: list[dict[str, Any]]
    members: dict[str, bytes] = field(default_factory=dict)
    name: str = "submission.csv"

    def csv(self) -> bytes:
        return as_csv(
            self.header, [[row.get(column, "") for column in self.header] for row in self.rows]
        )

    def zip(self) -> bytes:
        return zip_of({self.name: self.csv(), **self.members})

    def set(self, column: str, *cells: Any, first: int = 0) -> tuple[str, ...]:
        """Put cells into a column from a row on; the ids of those rows."""
        for row, cell in zip(self.rows[first:], cells, strict=False):
            row[column] = cell
        return IDS[first : first + len(cells)]


def sound(track: Track) -> Sound:
    """Twelve rows with answers of their own."""
    rows = []
    for i, key in enumerate(IDS):
        up, down = round(0.03 * i + 0.05, 3), round(0.5 - 0.04 * i, 3)
        row = {
            "id": key,
            "prediction_up": up,
            "prediction_down": down,
            "reasoning_trace": f"Since P{i} acts on G{i} {HOW[i]}, it falls.",
        }
        for seed, shift in ((42, 0.02), (43, -0.005), (44, -0.015)):
            row[f"prediction_up_seed{seed}"], row[f"prediction_down_seed{seed}"] = (
                round(up + shift, 3),
                round(down - shift, 3),
            )
            row[f"reasoning_trace_seed{seed}"] = f"Seed {seed} thinks of P{i}."
        counts = {
            "tokens_used": 900 + i,
            "num_tool_calls": 7,
            "prompt_tokens": 700,
            "num_distinct_tools": 5,
        }
        model = "Qwen/Qwen3-4B-Thinking-2507" if track == "C" else "openai/gpt-oss-120b"
        rows.append({**row, **counts, "model_name": model})
    members = {"prompt.txt": PROMPT.encode(), **({"tools/ask.py": TOOL} if track == "B" else {})}
    return Sound(track, list(LAYOUTS[track].columns), rows, members)


def problems(
    content: bytes,
    track: Track,
    provenance: RunProvenance | None = None,
    expected: Sequence[str] = IDS,
) -> list[Problem]:
    """What the checker says of it."""
    return check(content, "s.zip", track, expected, provenance)
