"""The published ladder with a hypothesis of here that was registered late."""

from __future__ import annotations

from collections.abc import Sequence

from core.base.result import Result
from core.features.experiments.ledger_result import ledger_of
from core.features.experiments.ledger_table import HERE, LADDER, Entry, judged, read_published
from core.stats.intervals import normal_interval
from tests.features.experiments.cases import numbered


def examples() -> Sequence[Result]:
    late = Entry(
        kind="registration",
        source=HERE,
        name="late",
        hypothesis="h",
        dataset="toy",
        seen_before=True,
    )
    result = judged(late, normal_interval(0.03, 1e-4, 480, "row", "an example", (-1.0, 1.0)), 0.01)
    waiting = Entry(kind="registration", source=HERE, name="to come", hypothesis="h", dataset="toy")
    ladder = read_published(LADDER.read_bytes(), LADDER.name)
    return ledger_of(numbered([*ladder, late, result, waiting])), ledger_of([])
