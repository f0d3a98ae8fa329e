"""A parsed submission: the zip, the table inside as the judge reads it, its rows as an import reads
them, and facts about the run behind it.

Unreadable content is a fault, never an exception.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from types import MappingProxyType

import pandas as pd

from core.base.archives import is_zip, unpack
from core.base.errors import InputError
from core.base.tables import text_table
from core.base.texts import quote
from core.base.types import RowResult, Track
from core.features.importing.problems import Row
from core.features.importing.submissions import read_submission
from core.methods import prompts
from core.submission import IDENTITY


@dataclass(frozen=True, slots=True)
class RunProvenance:
    """Facts about the run for the rules. The defaults describe an unknown run.

    prompt: the text that was run, None if unknown. prompt_fault: why today's text may differ from
    it, "" if they are equal or no prompt is needed. sampling: (temperature, top_p) of the calls.
    models: names of all models used by the run and its parents. learned: phrases on what was
    learned from the competition's labels, each naming its run. shots: number of measured pairs in
    each prompt. changed: differences between the code of the run and today's, "" for none.
    left_out: rows of the run missing from the submission. fewer_seeds: rows of the run, or of its
    parents, where a seed gave no answer.
    """

    run: str = ""
    prompt: str | None = None
    prompt_fault: str = ""
    sampling: tuple[tuple[float, float], ...] = ()
    models: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    shots: int = 0
    changed: str = ""
    left_out: tuple[str, ...] = ()
    fewer_seeds: tuple[str, ...] = ()


UNKNOWN_RUN = RunProvenance()


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """A submission's file, or its readable parts.

    expected: ids of the rows that are scored. paths: of all members of a zip; None for a bare CSV,
    and if they cannot be read. members: bytes of prompt.txt and tools/*.py, by path beside the CSV.
    sheet: the cells as texts, NaN where the judge finds none; None if it cannot be read. results:
    rows as read by an import. fault: why there is no sheet.
    """

    layout: Layout
    expected: tuple[str, ...]
    provenance: RunProvenance
    paths: tuple[str, ...] | None = None
    members: Mapping[str, bytes] = field(default_factory=dict)
    sheet: pd.DataFrame | None = None
    results: tuple[RowResult, ...] = ()
    fault: str = ""

    @property
    def prompt(self) -> str | None:
        """The text of prompt.txt, None without one."""
        return self.members[PROMPT].decode("utf-8", "replace") if PROMPT in self.members else None

    @property
    def tools(self) -> dict[str, bytes]:
        """The Python files under tools/, by path."""
        return {path: content for path, content in self.members.items() if path != PROMPT}

    def column(self, name: str) -> pd.Series[str]:
        """Return a column, NaN for an empty cell; nothing where there is none."""
        none = pd.Series([], dtype=object)
        return self.sheet[name] if self.sheet is not None and name in self.sheet else none

    def numbers(self, name: str) -> pd.Series[float]:
        """Return a column's numbers, NaN for what is none."""
        return pd.to_numeric(self.column(name), errors="coerce").astype("float64")

    def rows(self, chosen: pd.Series[bool]) -> list[Row]:
        """Return the ids of the chosen rows; a row without one is named by its number from 1."""
        ids = self.column("id").reindex(chosen.index)
        places = zip(ids[chosen], chosen.index[chosen], strict=True)
        return [key if isinstance(key, str) else int(place) + 1 for key, place in places]


_Unzipped = tuple[bytes, tuple[str, ...] | None, dict[str, bytes], str]


def parse_submission(
    content: bytes, name: str, layout: Layout, expected: Sequence[str], provenance: RunProvenance
) -> File:
    """Parse the readable parts of a CSV or a zip."""
    unzipped: _Unzipped = content, None, {}, ""
    table, paths, members, fault = _unzip(content, name) if is_zip(content) else unzipped
    sheet: pd.DataFrame | None = None
    results: tuple[RowResult, ...] = ()
    if not fault:
        try:
            sheet = pd.read_csv(io.BytesIO(table), dtype=str, encoding="utf-8-sig", index_col=False)
        except (ValueError, OverflowError, UnicodeError) as error:
            fault = f"{name}: cannot be read as CSV ({' '.join(str(error).split())})"
        else:
            sheet.columns = [str(column).strip() for column in sheet.columns]
            results = _read_rows(table, name)
    return File(layout, tuple(expected), provenance, paths, members, sheet, results, fault)


def _unzip(content: bytes, name: str) -> _Unzipped:
    """Return the submission in a zip, the paths of all members, the bytes of those beside it, and
    why there is no single submission."""
    try:
        paths, found = unpack(content, name, _is_wanted)
    except InputError as error:
        return b"", None, {}, str(error)
    named = [path for path in paths if PurePosixPath(path).name == CSV]
    if len(named) != 1:
        inside = ", ".join(map(quote, (named or paths)[:5])) or "nothing"
        fault = f"{len(named)} files {CSV} in the zip ({inside}), expected one"
        return b"", tuple(paths), {}, fault
    inside_of = named[0].removesuffix(CSV)
    members = {
        short: data
        for path, data in found.items()
        if path.startswith(inside_of)
        and ((short := path.removeprefix(inside_of)) == PROMPT or is_tool(short))
    }
    return found[named[0]], tuple(paths), members, ""


def _is_wanted(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return parts[-1:] in ((CSV,), (PROMPT,)) or (
        path.endswith(".py") and TOOLS[:-1] in parts[-2:-1]
    )


def is_tool(path: str) -> bool:
    """Return whether a member is one of tools/*.py."""
    return path.startswith(TOOLS) and path.endswith(".py") and path.count("/") == 1


def _read_rows(content: bytes, name: str) -> tuple[RowResult, ...]:
    """Return the rows that an import would accept."""
    try:
        table = text_table(io.BytesIO(content), name)
        return read_submission(table, "").rows if set(IDENTITY) <= set(table.header) else ()
    except InputError:
        return ()


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
