"""Compute published numbers again, and compare them, with the reason if a number differs or cannot be computed."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.errors import DeskError
from core.experiments.published.registry import PublishedNumber
from core.experiments.published.sources import Computed, NotHere, Sources

ROUNDING = 1e-9  # a difference may exceed the tolerance by this much, because published numbers are rounded
Progress = Callable[[float, str], object]  # called with the share that is done, and the next step


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A published number and ours.

    ours: None if it cannot be computed here. why: why it differs or cannot be computed; "" if it agrees. note: see `Computed`.
    """

    number: PublishedNumber
    ours: float | None
    why: str
    note: str = ""

    @property
    def agrees(self) -> bool | None:
        """Whether our number is within the tolerance; None if it cannot be computed here."""
        return None if self.ours is None else is_within(self.number, self.ours)


def is_within(number: PublishedNumber, ours: float) -> bool:
    """Return whether our number equals the published one within its tolerance."""
    return abs(ours - number.published) <= number.tolerance + ROUNDING


def reproduce(numbers: Sequence[PublishedNumber], sources: Sources, progress: Progress | None = None) -> tuple[Reproduced, ...]:
    """Compute the numbers one after the other from the workspace, without saving anything."""
    found = []
    for i, number in enumerate(numbers):
        if progress is not None:
            progress(i / len(numbers), number.name)
        found.append(reproduce_one(number, sources))
    return tuple(found)


def reproduce_one(number: PublishedNumber, sources: Sources) -> Reproduced:
    """Compute one number; a missing file, package or row becomes the reason for a missing number."""
    try:
        others = [key for key in number.needs if not sources.find(key).is_published]
        module = importlib.import_module(f"core.experiments.published.computed.{number.compute}")
        computed: Computed = module.compute(sources, number.wanted)
    except (NotHere, DeskError) as error:
        return Reproduced(number, None, str(error))
    if math.isnan(computed.value):
        return Reproduced(number, None, "it is not defined for the rows in this workspace")
    if is_within(number, computed.value):
        return Reproduced(number, computed.value, "", computed.note)
    named = ", ".join(sources.files[key].file for key in others)
    why = f"here {named} differs from the published file, or is unknown" if others else computed.note
    return Reproduced(number, computed.value, why or "not explained: the same files and the same definition", computed.note)
