"""The hypothesis that a benchmark names in its file, so that it stands in the ledger before the first arm is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass

from core.experiments.decision import DecisionUnit, Level
from core.fields.record import setting
from core.fields.toml_table import TomlTable
from core.texts import check_name


@dataclass(frozen=True, slots=True)
class HypothesisSpec:
    """What is claimed of an arm; the metric that decides and the smallest effect are those of the benchmark.

    name: in the ledger, None for that of the benchmark. arm: the one that is tested against its control. level, unit: as of
    `DecisionRule`.
    """

    claim: str = setting(MISSING, "What is claimed.")
    prediction: str = setting(MISSING, "What would be seen if it is true.")
    arm: str = setting(MISSING, "The arm that is tested.")
    level: Level = setting("fused", "What is compared.")
    unit: DecisionUnit = setting("two-way", "What is resampled.")
    name: str | None = setting(None, "Its name in the ledger; by default that of the benchmark.")


def read_hypothesis(table: TomlTable, tested: Sequence[str]) -> HypothesisSpec:
    """The hypothesis of a table [hypothesis]. tested: names of the arms that are compared with another.

    Raises InputError, with file, line and key, for what it should not hold, and without an arm where several are tested.
    """
    given = {} if "arm" in table.values or len(tested) != 1 else {"arm": tested[0]}
    if "arm" not in table.values and not given:
        raise table.error("arm", f"is missing, expected one of {', '.join(tested)}")
    found = table.record(HypothesisSpec, **given)
    if found.arm not in tested:
        raise table.error("arm", f"is {found.arm!r}, expected {', '.join(tested)}")
    if found.name is not None:
        check_name("hypothesis", found.name)
    return found
