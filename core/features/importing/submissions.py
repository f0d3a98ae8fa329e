"""Submissions for tracks A, B and C: predictions with their traces, as run rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from core.base.row_schema import FILE_SUM_TOLERANCE
from core.base.tables import NumberStyle, Table
from core.base.texts import quote
from core.base.types import Flag, Label, Prediction, RowResult, TraceEvent, Track
from core.features.importing.pairs import (
    IDENTITY,
    Fault,
    Part,
    TableRows,
    each,
    find_empty,
    unique_rows,
)
from core.features.importing.roles import COLUMN_OF, SEED_COLUMN, Roles
from core.features.importing.traces import Format, Trace, parse_trace
from core.llm.answers import read_label
from core.llm.completion import part_thinking
from core.runs.audited_rows import AuditedRows, RowSpool
from core.stats.arrays import Floats, divide

# a trace's probabilities reproduce both predictions within this, else the file's numbers count
TRACE_TOLERANCE = 2e-6
UNIFORM_TOLERANCE = 5e-4  # .333 stands for a third

_NUMBERS = ("prediction_up", "prediction_down")
_SPLIT = ("p_de", "p_up_given_de")
# Label → the numbers of an answer that is certain of it.
CERTAIN: Mapping[Label, tuple[float, float]] = {
    Label.UP: (1.0, 0.0),
    Label.DOWN: (0.0, 1.0),
    Label.NONE: (0.0, 0.0),
}
_COUNTS = ("tokens", "prompt_tokens", "tool_calls")
_NO_TRACE = ("", "none")  # what stands in the column of traces without one


@dataclass(frozen=True)
class SubmissionTable(TableRows):
    """The rows of one submission.

    `track` is A with columns per seed, B with counts of tools, else C, whose columns are the
    fewest: so a bare id, prediction_up, prediction_down is C too. `method` is the method whose
    format most traces have, or that they name; "unknown" without traces. `model_name` is the most
    frequent one, "" if that is `none` or there is no such column. A "sample_submission" says
    .333/.333 on every row, without a trace or a model. rows: () if they went to `audited` as they
    were read (`spool_rows`), so that nobody holds the traces of a large file. spec, note: the
    source of a run of external scores. remark: on oddities of the file, or "".
    """

    kind: Literal["submission", "sample_submission", "inspect_log", "external_score"]
    track: Track | None
    method: str
    model_name: str
    rows: tuple[RowResult, ...]
    spec: Mapping[str, Any] = field(default_factory=dict)
    note: str | None = None
    remark: str = ""
    audited: AuditedRows | None = None


def spool_rows(read: Callable[[RowSpool], SubmissionTable]) -> SubmissionTable:
    """Return a run whose rows are audited as they are read. read: is given what takes them."""
    spool = RowSpool()
    table = read(spool)
    return replace(table, audited=spool.finish())


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the columns are. numbers: prediction_up and prediction_down, or p_de and p_up_given_de
    (`is_split`). at: every column.
    """

    numbers: tuple[str, str]
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


def read_submission(table: Table, sha256: str, spool: RowSpool | None = None) -> SubmissionTable:
    """Return all rows with a valid id and two valid predictions; other columns may be missing or
    hold anything.

    spool: is given the rows, instead of the table.
    """
    rows: list[RowResult] = []
    lines: list[int] = []
    tally = _Tally()
    take = rows.append if spool is None else spool.add
    layout = _layout(table)
    if layout is not None:
        used = {*IDENTITY, *layout.numbers, "reasoning_trace", "model_name"}
        unused = [name for name in table.header if name not in used]
        for part in unique_rows(table, unused, partial(_faults, table, layout)):
            lines += part.rows.index.tolist()
            one, other = (table.numbers(name, part.rows[name]) for name in layout.numbers)
            up, down = (one * other, one * (1 - other)) if layout.is_split else (one, other)
            if spool is not None and not _has_texts(part.rows, layout):
                spool.add_predictions(_predictions_of(part, up, down, layout, tally))
                continue
            cells = part.rows.itertuples(index=False, name=None)
            for values in zip(part.ids, up.tolist(), down.tolist(), cells, strict=True):
                row = _row(*values, layout, tally)
                tally.rows += 1
                tally.uniform += Flag.UNIFORM in row.prediction.flags
                take(row)
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
    if table.require(*keys, *names) is None:
        return None
    table.refuse_unclear(names)
    seeds = {int(match[1]) for name in table.header if (match := SEED_COLUMN.fullmatch(name))}
    at = {name: i for i, name in enumerate(table.header)}
    return _Layout(names, is_split, tuple(sorted(seeds)), at)


def _track(table: Table, layout: _Layout | None) -> Track:
    if layout is not None and layout.seeds:
        return "A"
    return "B" if {"num_tool_calls", "num_distinct_tools"} & set(table.header) else "C"


def _faults(table: Table, layout: _Layout, rows: pd.DataFrame) -> list[Fault]:
    """Return what is wrong with the numbers of some rows."""
    one, other = layout.numbers
    p, q = table.numbers(one, rows[one]), table.numbers(other, rows[other])
    texts = rows[one].tolist(), rows[other].tolist()

    def say(expected: str, at: int) -> str:
        return f"{one} {quote(texts[0][at])}, {other} {quote(texts[1][at])}, expected {expected}"

    is_inside = (np.minimum(p, q) >= 0) & (np.maximum(p, q) <= 1)
    if not layout.is_split:
        is_inside &= p + q <= 1 + FILE_SUM_TOLERANCE
    return [
        *find_empty(rows, (one, other)),
        (~np.isfinite(p + q), "not a number", partial(say, "two numbers")),
        (
            ~is_inside,
            "out of range",
            partial(say, "both in [0, 1] and a sum of at most 1"),
        ),
    ]


def _number(text: str) -> float | None:
    """Return a finite number, else None."""
    number = NumberStyle().read(text)
    return number if number is not None and math.isfinite(number) else None


def _row(
    pair_id: str, up: float, down: float, cells: Sequence[str], layout: _Layout, tally: _Tally
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


def _has_texts(rows: pd.DataFrame, layout: _Layout) -> bool:
    """Return whether some row has a trace, or an answer of a seed."""
    names = ("reasoning_trace", *(f"reasoning_trace_seed{seed}" for seed in layout.seeds))
    return any(
        text.strip() not in _NO_TRACE for name in names if name in layout.at for text in rows[name]
    )


def _predictions_of(
    part: Part, up: Floats, down: Floats, layout: _Layout, tally: _Tally
) -> dict[str, Sequence[Any]]:
    """Return the predictions that `_row` makes of rows without any text, as a column for each of
    their fields."""
    total = up + down
    shares = divide(up, total).tolist()
    uniform = np.maximum(np.abs(up - 1 / 3), np.abs(down - 1 / 3)) <= UNIFORM_TOLERANCE
    tally.rows += len(total)
    tally.uniform += int(uniform.sum())
    if "model_name" in layout.at:
        tally.models.update(part.rows["model_name"])
    none = np.full(len(total), None)
    counts = {
        name: each(count_in, part.rows[COLUMN_OF[name]]) if COLUMN_OF[name] in layout.at else none
        for name in _COUNTS
    }
    return {
        "pair_id": part.ids.tolist(),
        "prediction_up": up.tolist(),
        "prediction_down": down.tolist(),
        "p_de": np.minimum(total, 1.0).tolist(),
        "p_up_given_de": [None if math.isnan(share) else share for share in shares],
        "p_source": ["file"] * len(total),
        "flags": [(Flag.UNIFORM,) if is_uniform else () for is_uniform in uniform.tolist()],
        **{name: count.tolist() for name, count in counts.items()},
    }


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


def _seed_events(cells: Sequence[str], layout: _Layout) -> list[TraceEvent]:
    events: list[TraceEvent] = []
    for seed in layout.seeds:
        text = layout.cell(cells, f"reasoning_trace_seed{seed}")
        if text.strip() in _NO_TRACE:
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
    table: Table, roles: Roles, sha256: str, spool: RowSpool | None = None
) -> SubmissionTable:
    """Return a row for each reply; one that cannot be read has .333/.333, which is flagged.

    spool: is given the rows, instead of the table.
    """
    rows: list[RowResult] = []
    lines: list[int] = []
    models: dict[str, None] = {}
    take = rows.append if spool is None else spool.add
    table.note_unused(roles.unused)
    names = {"id": "id of a row"}  # unless it names the pair
    names |= {roles.of[role]: role for role in IDENTITY if role in roles.of}
    table.rename(names)
    columns = {role: names.get(name, name) for role, name in roles.of.items()}
    for part in unique_rows(table, [names.get(n, n) for n in roles.unused]):
        replies = part.rows[[*columns.values()]].itertuples(index=False, name=None)
        for key, cells in zip(part.ids, replies, strict=True):
            of_role = dict(zip(columns, cells, strict=True))
            take(_reply_row(key, of_role))
            models[of_role.get("model", "")] = None
        lines += part.rows.index.tolist()
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
