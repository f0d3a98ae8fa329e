"""Submissions for tracks A, B and C: predictions with their traces, as run rows."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from core.base.row_schema import FILE_SUM_TOLERANCE
from core.base.tables import NumberStyle, Table
from core.base.texts import quote
from core.base.types import Flag, Label, Prediction, Rejected, RowResult, TraceEvent, Track
from core.features.importing.pairs import IDENTITY, TableRows, name_row, place_keys, unique_rows
from core.features.importing.roles import Roles
from core.features.importing.traces import Format, Trace, parse_trace
from core.llm.answers import read_label
from core.llm.completion import part_thinking

# a trace's probabilities reproduce both predictions within this, else the file's numbers count
TRACE_TOLERANCE = 2e-6
UNIFORM_TOLERANCE = 5e-4  # .333 stands for a third

_NUMBERS = ("prediction_up", "prediction_down")
_SPLIT = ("p_de", "p_up_given_de")
# Role → the column of a submission that has it.
COLUMN_OF: Mapping[str, str] = {
    "up": "prediction_up",
    "down": "prediction_down",
    "p_de": "p_de",
    "p_up_given_de": "p_up_given_de",
    "reasoning": "reasoning_trace",
    "model": "model_name",
    "tokens": "tokens_used",
    "prompt_tokens": "prompt_tokens",
    "tool_calls": "num_tool_calls",
}
_SEED_COLUMN = re.compile(
    r"(?:reasoning_trace|prediction_up|prediction_down)_seed(\d{1,9})", re.ASCII
)
# Label → the numbers of an answer that is certain of it.
CERTAIN: Mapping[Label, tuple[float, float]] = {
    Label.UP: (1.0, 0.0),
    Label.DOWN: (0.0, 1.0),
    Label.NONE: (0.0, 0.0),
}
_COUNTS = ("tokens", "prompt_tokens", "tool_calls")


# is given each row once it is read, so that nobody holds the traces of a large file
TakeRow = Callable[[RowResult], None]


@dataclass(frozen=True)
class SubmissionTable(TableRows):
    """The rows of one submission.

    `track` is A with columns per seed, B with counts of tools, else C, whose columns are the
    fewest: so a bare id, prediction_up, prediction_down is C too. `method` is the method whose
    format most traces have, or that they name; "unknown" without traces. `model_name` is the most
    frequent one, "" if that is `none` or there is no such column. A "sample_submission" says
    .333/.333 on every row, without a trace or a model. rows: () if they were passed on one by one
    (see `TakeRow`). spec, note: the source of a run of external scores. remark: on oddities of the
    file, or "".
    """

    kind: Literal["submission", "sample_submission", "inspect_log", "external_score"]
    track: Track | None
    method: str
    model_name: str
    rows: tuple[RowResult, ...]
    spec: Mapping[str, Any] = field(default_factory=dict)
    note: str | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the columns are. key: id, pert and gene. numbers: prediction_up and prediction_down, or
    p_de and p_up_given_de (`is_split`). at: every column.
    """

    key: Mapping[str, int]
    numbers: tuple[int, ...]
    is_split: bool
    seeds: tuple[int, ...]
    at: Mapping[str, int]

    def cell(self, cells: Sequence[str], column: str) -> str:
        """Return a cell of a row, "" in a file without the column."""
        return cells[self.at[column]] if column in self.at else ""


@dataclass(slots=True)
class _Tally:
    """Counts over the rows that say what the file is."""

    formats: Counter[Format] = field(default_factory=Counter)
    methods: Counter[str] = field(default_factory=Counter)  # that packaged traces name
    models: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    uniform: int = 0  # rows that are flagged so
    # seeds of rows whose text answers otherwise than their numbers
    differing: list[str] = field(default_factory=list)


def is_submission(header: tuple[str, ...], roles: Mapping[str, str]) -> bool:
    """Return whether a header has a prediction column, or columns of both probabilities. roles:
    role → column."""
    named = any(column.startswith(_NUMBERS) for column in header)
    return named or {"up", "down"} <= roles.keys() or {*_SPLIT} <= roles.keys()


def read_submission(table: Table, sha256: str, take: TakeRow | None = None) -> SubmissionTable:
    """Return all rows with a valid id and two valid predictions; other columns may be missing or
    hold anything.

    take: is given the rows, instead of the table.
    """
    rows: list[RowResult] = []
    lines: list[int] = []
    tally = _Tally()
    take = take or rows.append
    layout = _layout(table)
    if layout is not None:
        for pair_id, line, (up, down, cells) in _checked_rows(table, layout):
            row = _row(pair_id, up, down, cells, layout, tally)
            tally.rows += 1
            tally.uniform += Flag.UNIFORM in row.prediction.flags
            take(row)
            lines.append(line)
    track = _track(table, layout)
    return SubmissionTable(
        "sample_submission" if _is_sample(tally) else "submission",
        track,
        _method(track, tally),
        _model(tally),
        tuple(rows),
        lines=tuple(lines),
        rejected=tuple(table.rejected),
        sha256=sha256,
        remark=describe_differing(tally.differing),
    )


def _layout(table: Table) -> _Layout | None:
    """Return where the columns are; None, with a rejection, if one that every row needs is
    missing."""
    is_split = not {*_NUMBERS} & {*table.header} and {*_SPLIT} <= {*table.header}
    by_pair = "id" not in table.header and {"pert", "gene"} & {*table.header}
    keys = ("pert", "gene") if by_pair else ("id",)
    names = _SPLIT if is_split else _NUMBERS
    required = table.require(*keys, *names)
    if required is None:
        return None
    table.refuse_unclear(names)
    seeds = {int(match[1]) for name in table.header if (match := _SEED_COLUMN.fullmatch(name))}
    at = {name: i for i, name in enumerate(table.header)}
    return _Layout(place_keys(table), required[len(keys) :], is_split, tuple(sorted(seeds)), at)


def is_used(column: str) -> bool:
    """Return whether a submission's column is read beside those with a role."""
    return _SEED_COLUMN.fullmatch(column) is not None or column == "num_distinct_tools"


def _track(table: Table, layout: _Layout | None) -> Track:
    if layout is not None and layout.seeds:
        return "A"
    return "B" if {"num_tool_calls", "num_distinct_tools"} & set(table.header) else "C"


def _checked_rows(
    table: Table, layout: _Layout
) -> Iterator[tuple[str, int, tuple[float, float, list[str]]]]:
    used = {*layout.key.values(), *layout.numbers}
    unused = [
        name
        for name, i in layout.at.items()
        if i not in used and name not in ("reasoning_trace", "model_name")
    ]
    return unique_rows(table, unused, lambda line, cells: _check(table, line, cells, layout))


def _check(
    table: Table, line: int, cells: list[str], layout: _Layout
) -> tuple[str, tuple[float, float, list[str]]] | Rejected:
    """Return the row's id and its two predictions, or its rejection."""
    name = name_row(table, line, cells, layout.key)
    if isinstance(name, Rejected):
        return name
    if empty := table.empty_cell(line, cells, layout.numbers):
        return empty
    numbers = [table.number(column, cells[column]) for column in layout.numbers]
    names = [table.header[column] for column in layout.numbers]
    texts = ", ".join(
        f"{name} {quote(cells[column])}" for name, column in zip(names, layout.numbers, strict=True)
    )
    if any(number is None or not math.isfinite(number) for number in numbers):
        return Rejected(table.name, line, "not a number", f"{texts}, expected two numbers")
    one, other = (number for number in numbers if number is not None)
    up, down = (one * other, one * (1 - other)) if layout.is_split else (one, other)
    if not all(0 <= number <= 1 for number in (one, other)) or up + down > 1 + FILE_SUM_TOLERANCE:
        return Rejected(
            table.name,
            line,
            "out of range",
            f"{texts}, expected both in [0, 1] and a sum of at most 1",
        )
    return name[0], (up, down, cells)


def number_in(text: str) -> float | None:
    """Return a cell's number, which may be NaN or infinite, else None; 1_000 is a number in Python
    alone."""
    return NumberStyle().read(text)


def _number(text: str) -> float | None:
    """Return a finite number, else None."""
    number = number_in(text)
    return number if number is not None and math.isfinite(number) else None


def _row(
    pair_id: str, up: float, down: float, cells: list[str], layout: _Layout, tally: _Tally
) -> RowResult:
    trace = parse_trace(layout.cell(cells, "reasoning_trace"))
    seed_events = _seed_events(cells, layout)
    events = (*trace.events, *seed_events) if seed_events else trace.events
    differing = [f"{pair_id} {event.stage}" for event in seed_events if "reads" in event.meta]
    tally.differing += differing
    if trace.format != "none":
        tally.formats[trace.format] += 1
    elif events:
        tally.formats["text"] += 1
    if "model_name" in layout.at:
        tally.models[layout.cell(cells, "model_name")] += 1
    counts: dict[str, Any] = {
        name: count_in(layout.cell(cells, COLUMN_OF[name])) for name in _COUNTS
    }
    if trace.packaged is not None:
        tally.methods[trace.packaged.method] += 1
        packaged = trace.packaged.prediction(pair_id, up, down)
        # a 0 is taken from the trace
        stated = {name: count or getattr(packaged, name) for name, count in counts.items()}
        return RowResult(check_packaged(replace(packaged, **stated)), events)
    for name in ("tokens", "prompt_tokens") if events else ():
        counts[name] = counts[name] or None  # 0 beside a trace was never counted
    if "num_tool_calls" not in layout.at:
        counts["tool_calls"] = trace.tool_calls
    probabilities = _read_probabilities(up, down, trace, _seeds_disagree(seed_events))
    prediction = Prediction(pair_id, up, down, *probabilities, **counts)
    if differing:
        prediction = replace(prediction, flags=(*prediction.flags, Flag.ANSWER_DIFFERS))
    return RowResult(prediction, events)


def check_packaged(row: Prediction) -> Prediction:
    """Return the packaged prediction, or, if the file's numbers were changed, what follows from
    these."""
    up, down = row.prediction_up, row.prediction_down
    if _reproduces(up, down, row.p_de, row.p_up_given_de):
        return row
    flags = row.flags if Flag.TRACE_DIFFERS in row.flags else (*row.flags, Flag.TRACE_DIFFERS)
    p_de, p_up = split_sum(up, down)
    return replace(row, p_de=p_de, p_up_given_de=p_up, p_source="file", flags=flags)


def describe_differing(seeds: Sequence[str]) -> str:
    """Return the remark on answers whose text disagrees with their numbers, by names such as "Pa_Ga
    seed 42"; "" for none."""
    if not seeds:
        return ""
    first = ", ".join(seeds[:3]) + (", …" if len(seeds) > 3 else "")
    return f"answers whose text says otherwise than their numbers: {len(seeds):,} ({first})"


def _seed_events(cells: list[str], layout: _Layout) -> list[TraceEvent]:
    events: list[TraceEvent] = []
    for seed in layout.seeds:
        text = layout.cell(cells, f"reasoning_trace_seed{seed}")
        if text.strip() in ("", "none"):
            continue
        up, down = (_number(layout.cell(cells, f"{name}_seed{seed}")) for name in _NUMBERS)
        meta = {"prediction_up": up, "prediction_down": down, **reads_otherwise(text, up, down)}
        events.append(TraceEvent(f"seed {seed}", "MODEL", "answer", text, meta=meta))
    return events


def reads_otherwise(text: str, up: float | None, down: float | None) -> dict[str, str]:
    """{"reads": label} of a text that ends in another label than the one that two numbers are
    certain of, else {}.

    Numbers that are certain of no label (.333/.333, means, log-probabilities) are compared with
    nothing.
    """
    said = read_label(text) if (up, down) in CERTAIN.values() else None
    is_other = isinstance(said, Label) and CERTAIN[said] != (up, down)
    return {"reads": str(said)} if is_other else {}


def is_uniform(up: float | None, down: float | None) -> bool:
    """Return whether two numbers are the thirds that mean no answer."""
    return (
        up is not None
        and down is not None
        and max(abs(up - 1 / 3), abs(down - 1 / 3)) <= UNIFORM_TOLERANCE
    )


def _seeds_disagree(events: Iterable[TraceEvent]) -> bool:
    """Return whether some seed gave another answer than .333/.333: then a mean of .333/.333 is an
    answer."""
    return any(not is_uniform(e.meta["prediction_up"], e.meta["prediction_down"]) for e in events)


def _read_probabilities(
    up: float, down: float, trace: Trace, disagreeing_seeds: bool
) -> tuple[float, float | None, Literal["trace", "file"], tuple[Flag, ...]]:
    """Return p_de, p_up_given_de, their source, and the flags of the row."""
    flags = (
        (*trace.flags, Flag.UNIFORM)
        if is_uniform(up, down) and not disagreeing_seeds
        else trace.flags
    )
    p_de, p_up = trace.p_de, trace.p_up_given_de
    if p_de is not None and p_up is not None:
        if _reproduces(up, down, p_de, p_up):
            return p_de, p_up, "trace", flags
        flags = (*flags, Flag.TRACE_DIFFERS)
    return *split_sum(up, down), "file", flags


def _reproduces(up: float, down: float, p_de: float, p_up: float | None) -> bool:
    """Return whether a trace's probabilities are the file's; without an effect there is no
    direction to agree on."""
    share = 0.0 if p_up is None else p_up
    off = max(abs(up - p_de * share), abs(down - p_de * (1 - share)))
    return (
        off <= TRACE_TOLERANCE
        and 0 <= p_de <= 1
        and 0 <= share <= 1
        and (p_up is not None or p_de <= TRACE_TOLERANCE)
    )


def split_sum(up: float, down: float) -> tuple[float, float | None]:
    """Return p_de and p_up_given_de from the submitted numbers."""
    total = up + down
    return min(total, 1.0), up / total if total > 0 else None


def count_in(text: str) -> int | None:
    """Return a cell's whole number of at least 0, else None."""
    if text.isdecimal() and len(text) < 16:
        return int(text)
    number = _number(text)
    return (
        int(number) if number is not None and 0 <= number < 2**53 and number.is_integer() else None
    )


def _model(tally: _Tally) -> str:
    named = tally.models.most_common(1)
    return named[0][0] if named and named[0][0] != "none" else ""


def _is_sample(tally: _Tally) -> bool:
    if not tally.rows or tally.formats or set(tally.models) - {"", "none"}:
        return False
    return tally.uniform == tally.rows


def _method(track: Track, tally: _Tally) -> str:
    if not tally.formats:
        return "unknown"
    if tally.methods and tally.formats["packaged"] == tally.formats.most_common(1)[0][1]:
        return tally.methods.most_common(1)[0][0]
    of_text = {"A": "prompt_only", "B": "unknown", "C": "local_model"}
    most = tally.formats.most_common(1)[0][0]
    return most if most in ("debate", "react", "coordinator") else of_text[track]


_LOOKED_AT = 100  # replies, of which one has to be readable


def are_replies(table: Table, roles: Roles) -> bool:
    """Return whether a table has a column of replies, and an answer can be read in one of the
    first."""
    if "answer" not in roles.of or not roles.name_pairs:
        return False
    column = table.header.index(roles.of["answer"])
    return any(isinstance(read_label(row[column]), Label) for row in table.sample()[:_LOOKED_AT])


def read_replies(
    table: Table, roles: Roles, sha256: str, take: TakeRow | None = None
) -> SubmissionTable:
    """Return a row for each reply; one that cannot be read has .333/.333, which is flagged.

    take: is given the rows, instead of the table.
    """
    rows: list[RowResult] = []
    lines: list[int] = []
    models: dict[str, None] = {}
    take = take or rows.append
    table.note_unused(roles.unused)
    place = {role: table.header.index(name) for role, name in roles.of.items()}

    def read(line: int, cells: list[str]) -> tuple[str, list[str]] | Rejected:
        name = name_row(
            table, line, cells, {role: i for role, i in place.items() if role in IDENTITY}
        )
        return name if isinstance(name, Rejected) else (name[0], cells)

    for key, line, cells in unique_rows(table, roles.unused, read):
        of_role = {role: cells[i] for role, i in place.items()}
        take(_reply_row(key, of_role))
        models[of_role.get("model", "")] = None
        lines.append(line)
    return SubmissionTable(
        *(
            "submission",
            "C",
            "unknown",
            next(iter(models), "") if len(models) == 1 else "",
            tuple(rows),
        ),
        lines=tuple(lines),
        rejected=tuple(table.rejected),
        sha256=sha256,
    )


def _reply_row(pair_id: str, cells: dict[str, str]) -> RowResult:
    label = read_label(cells["answer"])
    up, down = CERTAIN[label] if isinstance(label, Label) else (1 / 3, 1 / 3)
    flags = () if isinstance(label, Label) else (Flag.UNIFORM,)
    counts = [count_in(cells.get(role, "")) for role in ("tokens", "prompt_tokens", "tool_calls")]
    return RowResult(
        Prediction(pair_id, up, down, *split_sum(up, down), "file", flags, *counts),
        tuple(_events(cells)),
    )


def _events(cells: dict[str, str]) -> Iterator[TraceEvent]:
    parts = part_thinking(cells["answer"])
    for text in (cells.get("reasoning", ""), parts.thinking or ""):
        if text.strip():
            yield TraceEvent("reply", "MODEL", "thought", text)
    yield TraceEvent("reply", "MODEL", "answer", parts.text or cells["answer"])
