"""The format of each track's submission: columns in order, members of the zip, and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from core.base.types import Track
from core.methods import prompts
from core.submission import IDENTITY

CSV, PROMPT, TOOLS = "submission.csv", "prompt.txt", "tools/"  # members of a zip
SEEDS = (42, 43, 44)  # of track A
NO_TRACE = "none"  # the text of an empty trace, because no cell may be empty
MODEL = "gpt-oss-120b"  # the only model allowed in tracks A and B

PLAIN_TRACE = "reasoning_trace"


@dataclass(frozen=True, slots=True)
class Layout:
    """One track.

    columns: of submission.csv, in order. predictions: pairs of columns, P(up) and P(down), the
    submitted ones first. traces, counts: columns with text, and with whole numbers. has_tools:
    whether the zip contains tools/*.py. most_prompt_tokens: None if the track has no such limit.
    """

    track: Track
    columns: tuple[str, ...]
    predictions: tuple[tuple[str, str], ...]
    traces: tuple[str, ...]
    counts: tuple[str, ...]
    has_tools: bool = False
    most_prompt_tokens: int | None = None


def seed_columns(seed: int) -> tuple[str, str, str]:
    """Return the columns of one seed: P(up), P(down) and the trace."""
    return f"prediction_up_seed{seed}", f"prediction_down_seed{seed}", f"reasoning_trace_seed{seed}"


_SUBMITTED = (IDENTITY[1], IDENTITY[2])
_BY_SEED = tuple(map(seed_columns, SEEDS))
_B_COUNTS = ("tokens_used", "num_tool_calls", "prompt_tokens", "num_distinct_tools")

LAYOUTS: Mapping[Track, Layout] = MappingProxyType(
    {
        "A": Layout(
            track="A",
            columns=(
                *IDENTITY,
                *(name for names in _BY_SEED for name in names),
                "tokens_used",
                "prompt_tokens",
                "model_name",
            ),
            predictions=(_SUBMITTED, *((up, down) for up, down, _ in _BY_SEED)),
            traces=tuple(trace for _, _, trace in _BY_SEED),
            counts=("tokens_used", "prompt_tokens"),
            most_prompt_tokens=prompts.A_PROMPT_TOKENS,
        ),
        "B": Layout(
            track="B",
            columns=(*IDENTITY, PLAIN_TRACE, *_B_COUNTS, "model_name"),
            predictions=(_SUBMITTED,),
            traces=(PLAIN_TRACE,),
            counts=_B_COUNTS,
            has_tools=True,
            most_prompt_tokens=prompts.B_PROMPT_TOKENS,
        ),
        "C": Layout(
            track="C",
            columns=(*IDENTITY, PLAIN_TRACE, "tokens_used", "model_name"),
            predictions=(_SUBMITTED,),
            traces=(PLAIN_TRACE,),
            counts=("tokens_used",),
        ),
    }
)
