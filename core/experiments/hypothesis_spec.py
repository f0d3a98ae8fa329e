"""The hypothesis that a benchmark names in its file, so that it stands in the ledger before the first arm is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from core.experiments.decision import DecisionUnit, Level
from core.texts import check_name
from core.toml_table import TomlTable

_KEYS = ("name", "claim", "prediction", "arm", "level", "unit")


@dataclass(frozen=True, slots=True)
class HypothesisSpec:
    """What is claimed of an arm; the metric that decides and the smallest effect are those of the benchmark.

    name: in the ledger, None for that of the benchmark. arm: the one that is tested against its control. level, unit: as of
    `DecisionRule`.
    """

    claim: str
    prediction: str
    arm: str
    level: Level = "fused"
    unit: DecisionUnit = "two-way"
    name: str | None = None


def read_hypothesis(table: TomlTable, tested: Sequence[str]) -> HypothesisSpec:
    """The hypothesis of a table [hypothesis]. tested: names of the arms that are compared with another.

    Raises InputError, with file, line and key, for what it should not hold, and without an arm where several are tested.
    """
    table.refuse_unknown(_KEYS)
    if "arm" not in table.values and len(tested) > 1:
        raise table.error("arm", f"is missing, expected one of {', '.join(tested)}")
    name = table.text("name", "") or None
    if name is not None:
        check_name("hypothesis", name)
    level, unit = table.text("level", "fused", get_args(Level)), table.text("unit", "two-way", get_args(DecisionUnit))
    return HypothesisSpec(
        claim=table.text("claim"),
        prediction=table.text("prediction"),
        arm=table.text("arm", tested[0], tested),
        level=next(each for each in get_args(Level) if each == level),
        unit=next(each for each in get_args(DecisionUnit) if each == unit),
        name=name,
    )
