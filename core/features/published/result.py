"""Published numbers beside ours, and how many of them agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.base.result import HIDDEN, Figure, Table

VERDICTS = {True: "agrees", False: "differs", None: "not computed"}


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A published number and ours, None if it cannot be computed here. needs, wanted: its files and
    its entry in the list.

    why: why it differs or is None. note: known reasons for a difference, such as cuts.
    """

    name: str
    group: str
    source: str
    published: float
    tolerance: float
    needs: tuple[str, ...] = field(metadata=HIDDEN)
    wanted: Mapping[str, Any] = field(metadata=HIDDEN)
    ours: float | None = None
    why: str | None = None
    note: str | None = None
    json_properties = ("agrees",)

    @property
    def agrees(self) -> bool | None:
        """Whether ours is within the tolerance, but for rounding; None without ours."""
        return (
            None if self.ours is None else abs(self.ours - self.published) <= self.tolerance + 1e-9
        )


@dataclass(frozen=True, slots=True, eq=False)
class Reproduction:
    """The published numbers that were asked for."""

    numbers: tuple[Reproduced, ...]
    title = "Published numbers, recomputed"

    @property
    def sentence(self) -> str:
        """How many numbers agree, differ and cannot be computed."""
        verdicts = [each.agrees for each in self.numbers]
        agree, differ, none = map(verdicts.count, VERDICTS)
        return (
            f"{agree:,} of {len(verdicts):,} published numbers agree, {differ:,} differ, {none:,}"
            " cannot be computed here."
        )

    @property
    def scope(self) -> str:
        """What was computed."""
        return "Each number is recomputed from the files of this workspace, with its tolerance"

    @property
    def caveats(self) -> tuple[str, ...]:
        """Why numbers were not computed."""
        return tuple(
            dict.fromkeys(f"Not computed: {each.why}" for each in self.numbers if each.ours is None)
        )

    def tables(self) -> tuple[Table, ...]:
        """Return every number."""
        return (Table("Numbers", tuple(map(_row, self.numbers))),)

    def figure(self) -> Figure | None:
        """Return None: the table says how far each number is off."""
        return None


def _row(each: Reproduced) -> dict[str, Any]:
    return {
        "group": each.group,
        "number": each.name,
        "published": f"{each.published:,.5g}",
        "tolerance": f"{each.tolerance:g}",
        "ours": None if each.ours is None else f"{each.ours:,.5g}",
        "verdict": VERDICTS[each.agrees],
        "why": each.why,
        "source": each.source,
    }
