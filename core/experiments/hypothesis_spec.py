"""The hypothesis that a benchmark names in its file, so that it stands in the ledger before the first arm is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.experiments.decision import DecisionUnit, Level
from core.texts import check_name
from core.toml_table import Text, TomlFile


@dataclass(frozen=True, slots=True)
class HypothesisSpec:
    """What is claimed of an arm; the metric that decides and the smallest effect are those of the benchmark.

    name: in the ledger, None for that of the benchmark. arm: the one that is tested against its control. level, unit: as of
    `DecisionRule`.
    """

    claim: Text
    prediction: Text
    arm: Text = ""
    level: Level = "fused"
    unit: DecisionUnit = "two-way"
    name: Text | None = None


def check_hypothesis(file: TomlFile, found: HypothesisSpec, tested: Sequence[str]) -> HypothesisSpec:
    """The hypothesis of a table [hypothesis], about the one arm that is tested if it names none. tested: names of the arms that
    are compared with another.

    Raises InputError, with file, line and key, for another arm, and without one where several are tested.
    """
    if found.name is not None:
        check_name("hypothesis", found.name)
    if not found.arm and len(tested) > 1:
        raise file.error(f"is missing, expected one of {', '.join(tested)}", "hypothesis", "arm")
    if found.arm and found.arm not in tested:
        raise file.error(f"is {found.arm!r}, expected {', '.join(tested)}", "hypothesis", "arm")
    return replace(found, arm=found.arm or tested[0])
