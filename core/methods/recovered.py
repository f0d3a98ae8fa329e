"""A component recovered from a published fusion, as a run of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

from core.methods.knn import prediction
from core.transfer.fusion_decomposition import RecoveredComponent
from core.types import RowResult, TraceEvent


def results(pair_ids: Sequence[str], found: RecoveredComponent, base: str, fused: str) -> list[RowResult]:
    """One result a row: the component's percentiles as probabilities, which they are not; ranks are all that is left of it."""
    rows = []
    for pair_id, p_de, p_up in zip(pair_ids, found.p_de.tolist(), found.p_up.tolist(), strict=True):
        if math.isnan(p_de):
            said = f"{fused} keeps the percentile of {base} here: the other component does not cover this row."
        else:
            said = f"Recovered from {fused} and its base {base}: percentile of P(DE) {p_de:.6f}, of P(up | DE) {p_up:.6f}."
        event = TraceEvent("decompose", "RECOVERED", "arithmetic", said, tokens=0)
        rows.append(RowResult(prediction(pair_id, p_de, p_up), (event,)))
    return rows
