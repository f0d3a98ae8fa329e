"""Complete the traces of a fusion: the events of its base run, and how submitted and stated numbers relate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.types import Flag, RowResult, TraceEvent


def add_base_events(rows: Sequence[RowResult], base: Mapping[str, RowResult]) -> list[RowResult]:
    """Put the base run's events before those of a fusion, whose own trace holds only the arithmetic."""
    return [
        replace(row, events=(*base[row.prediction.pair_id].events, *row.events)) if row.prediction.pair_id in base else row
        for row in rows
    ]


def explain_fusion(rows: Sequence[RowResult]) -> list[RowResult]:
    """Explain the difference if a row's trace states other probabilities than were submitted, and clear the row's flag.

    The explanation is an event with both. A row whose trace states no probabilities is unchanged.
    """
    return [_explain_row(row) if Flag.TRACE_DIFFERS in row.prediction.flags else row for row in rows]


def _explain_row(row: RowResult) -> RowResult:
    p_de, p_up = _stated_probabilities(row)
    if p_de is None or p_up is None:
        return row
    prediction = row.prediction
    direction = "no direction" if prediction.p_up_given_de is None else f"P(up | DE) {prediction.p_up_given_de:.6f}"
    text = (
        f"The trace: P(DE) {p_de:.6f}, P(up | DE) {p_up:.6f}, which give up {p_de * p_up:.6f}, down {p_de * (1 - p_up):.6f}.\n"
        f"Submitted after a fusion: up {prediction.prediction_up:.6f}, down {prediction.prediction_down:.6f}, which are "
        f"P(DE) {prediction.p_de:.6f}, {direction}.\n"
        "The fusion's other components and weights are not recorded here."
    )
    flags = tuple(flag for flag in prediction.flags if flag is not Flag.TRACE_DIFFERS)
    event = TraceEvent("fusion", "FUSION", "arithmetic", text, tokens=0)
    return replace(row, prediction=replace(prediction, flags=flags), events=(*row.events, event))


def _stated_probabilities(row: RowResult) -> tuple[float | None, float | None]:
    """P(DE) and P(up | DE) as a debate's judges or an agent's answer state them, None if the trace states none."""
    verdicts = {event.stage: event.meta.get("p") for event in row.events if event.kind == "verdict"}
    answer: Mapping[str, Any] = next((event.meta for event in reversed(row.events) if event.kind == "answer"), {})
    return verdicts.get("de", answer.get("p_de")), verdicts.get("dir", answer.get("p_up_given_de"))
