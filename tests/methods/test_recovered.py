"""A recovered component as a run: percentiles as they are, flags where it says nothing."""

from __future__ import annotations

import numpy as np

from core.base.types import Flag
from core.methods.recovered import build_results
from core.transfer.fusion import RecoveredComponent

NAN = float("nan")


def test_rows_by_hand() -> None:
    found = RecoveredComponent(np.array([0.25, NAN, 0.75]), np.array([0.5, NAN, NAN]), (0.0, 0.0))
    first, second, third = build_results(["a", "b", "c"], found, "llm", "published")
    assert [row.prediction.pair_id for row in (first, second, third)] == ["a", "b", "c"]
    assert (first.prediction.p_de, first.prediction.p_up_given_de, first.prediction.flags) == (
        0.25,
        0.5,
        (),
    )
    assert (first.prediction.prediction_up, first.prediction.prediction_down) == (0.125, 0.125)
    assert (second.prediction.p_de, second.prediction.flags) == (0.5, (Flag.UNCOVERED,))
    assert (third.prediction.p_de, third.prediction.p_up_given_de, third.prediction.flags) == (
        0.75,
        0.5,
        (Flag.UNCOVERED_DIR,),
    )
    [event] = first.events
    assert (event.stage, event.role, event.kind) == ("decompose", "RECOVERED", "arithmetic")
    assert event.content == (
        "Recovered from published and its base llm: percentile of P(DE) 0.250000, of P(up | DE) 0.500000."
    )
    assert second.events[0].content == (
        "published keeps the percentile of llm here: the other component does not cover this row, and the middle rank, 0.5, "
        "stands in."
    )
    assert third.events[0].content == (
        "Recovered from published and its base llm: percentile of P(DE) 0.750000, of P(up | DE) the middle rank, 0.5, stands in."
    )
