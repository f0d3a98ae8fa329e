"""Make a submission's zip from finished rows, and complete the traces of a fusion. The same input
gives the same bytes.

In tracks B and C, a row's trace is the JSON of core.features.importing.traces: the whole
row except its evidence and calls. Track A's columns contain less: each seed's texts and two
numbers, and the row's two numbers and two counts. They omit flags, tool calls, events without a
seed, and the role, kind, tokens, latency and other facts of a seed's events. Several texts of a
seed share one cell, with an empty line between them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from core.base.archives import pack
from core.base.errors import InputError
from core.base.types import Flag, Prediction, RowResult, TraceEvent, Track
from core.features.importing.submissions import is_uniform
from core.features.importing.traces import write_trace
from core.features.submissions.parsed import (
    CSV,
    LAYOUTS,
    NO_TRACE,
    PROMPT,
    SEEDS,
    TOOLS,
    seed_columns,
)


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a zip.

    rows: in the order of submission. model: "" is written as `none`. method: for the traces.
    prompt: None leaves prompt.txt out. tools: file name → source. distinct_tools: row → number of
    tools used; for other rows, the tools in the trace are counted.
    """

    track: Track
    rows: Sequence[RowResult]
    model: str
    method: str
    prompt: str | None = None
    tools: Mapping[str, bytes] = field(default_factory=dict)
    distinct_tools: Mapping[str, int] = field(default_factory=dict)


def as_zip(contents: Contents) -> bytes:
    """Return the zip's bytes. Raise InputError for a row that CSV or JSON cannot hold."""
    members = {CSV: as_csv(contents)}
    if contents.prompt is not None:
        members[PROMPT] = contents.prompt.encode()
    if LAYOUTS[contents.track].has_tools:
        members |= {f"{TOOLS}{name}": source for name, source in sorted(contents.tools.items())}
    return pack(members)


def as_csv(contents: Contents) -> bytes:
    """Return the bytes of submission.csv: exact numbers, 0 for an unknown count, `none` for an
    empty trace.

    Raise InputError for a row that CSV or JSON cannot hold.
    """
    columns = LAYOUTS[contents.track].columns
    out = io.StringIO(newline="")
    writer = csv.writer(out)  # ends lines with CR LF, so that it quotes a single CR inside a trace
    writer.writerow(columns)
    for row in contents.rows:
        cells = _cells(row, contents)
        writer.writerow([cells[name] for name in columns])
    try:
        return out.getvalue().encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{CSV}: cannot be written down ({error}), expected text without half of a surrogate"
            " pair"
        ) from error


def _cells(row: RowResult, contents: Contents) -> dict[str, str]:
    """Return column → text, for the track's columns and others."""
    prediction = row.prediction
    cells = {
        "id": prediction.pair_id,
        "prediction_up": repr(float(prediction.prediction_up)),
        "prediction_down": repr(float(prediction.prediction_down)),
        "tokens_used": str(prediction.tokens or 0),
        "prompt_tokens": str(prediction.prompt_tokens or 0),
        "num_tool_calls": str(prediction.tool_calls or 0),
        "num_distinct_tools": str(
            len({event.role for event in row.events if event.kind == "tool_call"})
            or contents.distinct_tools.get(prediction.pair_id, 0)
        ),
        "model_name": contents.model or NO_TRACE,
    }
    if contents.track == "A":
        return cells | dict(_seed_cells(row))
    return cells | {"reasoning_trace": _trace(row, contents)}


def _trace(row: RowResult, contents: Contents) -> str:
    """Return the row's trace; `none` for a row without events if the track's other columns contain
    everything else."""
    prediction = row.prediction
    total = prediction.prediction_up + prediction.prediction_down
    p_up = prediction.prediction_up / total if total else None
    columns = (
        ("tokens_used", prediction.tokens),
        ("prompt_tokens", prediction.prompt_tokens),
        ("num_tool_calls", prediction.tool_calls),
    )
    counts = [
        (count or 0) if column in LAYOUTS[contents.track].columns else None
        for column, count in columns
    ]
    flags = (
        (Flag.UNIFORM,) if is_uniform(prediction.prediction_up, prediction.prediction_down) else ()
    )
    plain = Prediction(
        prediction.pair_id,
        prediction.prediction_up,
        prediction.prediction_down,
        min(total, 1.0),
        p_up,
        "file",
        flags,
        *counts,
    )
    return NO_TRACE if not row.events and prediction == plain else write_trace(row, contents.method)


def _seed_cells(row: RowResult) -> Iterator[tuple[str, str]]:
    """Yield the columns of the seeds. A seed without an answer gets the submitted mean, so that the
    mean stays the same."""
    answers = {seed: answer for seed in SEEDS if (answer := _answer(row, seed)) is not None}
    prediction = row.prediction
    for seed in SEEDS:
        up, down = answers.get(seed, (prediction.prediction_up, prediction.prediction_down))
        text = "\n\n".join(event.content for event in _of_seed(row, seed))
        yield from zip(
            seed_columns(seed),
            (repr(float(up)), repr(float(down)), text if text.strip() else NO_TRACE),
            strict=True,
        )


def _of_seed(row: RowResult, seed: int) -> list[TraceEvent]:
    return [event for event in row.events if event.stage == f"seed {seed}"]


def _answer(row: RowResult, seed: int) -> tuple[float, float] | None:
    """Return a seed's two numbers, None if its events have none."""
    for event in reversed(_of_seed(row, seed)):
        up, down = event.meta.get("prediction_up"), event.meta.get("prediction_down")
        if up is not None and down is not None:
            return float(up), float(down)
    return None


def repeated_rows(rows: Sequence[RowResult]) -> tuple[str, ...]:
    """Return the ids of track A rows where some seed has no answer of its own."""
    return tuple(
        row.prediction.pair_id for row in rows if any(_answer(row, seed) is None for seed in SEEDS)
    )


def add_base_events(rows: Sequence[RowResult], base: Mapping[str, RowResult]) -> list[RowResult]:
    """Put the base run's events before a fusion's own events, which contain only the arithmetic."""
    return [
        (
            replace(row, events=(*base[row.prediction.pair_id].events, *row.events))
            if row.prediction.pair_id in base
            else row
        )
        for row in rows
    ]


def explain_fusion(rows: Sequence[RowResult]) -> list[RowResult]:
    """Explain the difference if a row's trace and submission have different probabilities, and
    clear the row's flag.

    The explanation is an event with both. A row without probabilities in its trace is unchanged.
    """
    return [
        _explain_row(row) if Flag.TRACE_DIFFERS in row.prediction.flags else row for row in rows
    ]


def _explain_row(row: RowResult) -> RowResult:
    verdicts = {event.stage: event.meta.get("p") for event in row.events if event.kind == "verdict"}
    answer: Mapping[str, Any] = next(
        (event.meta for event in reversed(row.events) if event.kind == "answer"), {}
    )
    p_de, p_up = (
        verdicts.get("de", answer.get("p_de")),
        verdicts.get("dir", answer.get("p_up_given_de")),
    )
    if p_de is None or p_up is None:
        return row
    prediction = row.prediction
    direction = (
        "no direction"
        if prediction.p_up_given_de is None
        else f"P(up | DE) {prediction.p_up_given_de:.6f}"
    )
    text = (
        f"The trace: P(DE) {p_de:.6f}, P(up | DE) {p_up:.6f}, which give up {p_de * p_up:.6f}, down"
        f" {p_de * (1 - p_up):.6f}.\nSubmitted after a fusion: up {prediction.prediction_up:.6f},"
        f" down {prediction.prediction_down:.6f}, which are P(DE) {prediction.p_de:.6f},"
        f" {direction}.\nThe fusion's other components and weights are not recorded here."
    )
    flags = tuple(flag for flag in prediction.flags if flag is not Flag.TRACE_DIFFERS)
    event = TraceEvent("fusion", "FUSION", "arithmetic", text, tokens=0)
    return replace(row, prediction=replace(prediction, flags=flags), events=(*row.events, event))
