"""The clash of a debate: a point of one side, and whether it was answered. A model reads the debate (`core.methods.clash`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from core.audit.rubric import Rubric

Status = Literal["answered", "ignored", "unclear"]
STATUSES: Final[tuple[Status, ...]] = ("answered", "ignored", "unclear")
SPEECHES: Final = Rubric("clash", "Which points of a debate are answered, ignored, or decide the judge?", unit="speech")


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a side, quoted from its speeches. answer: the reply, quoted from another side, `answered_by`; verdict: words
    of the judge about the point; "" if there are none. status: "unclear" if the quoted reply is in no speech of another side.
    """

    side: str
    point: str
    status: Status
    answer: str = ""
    answered_by: str = ""
    verdict: str = ""
