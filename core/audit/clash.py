"""The clash of a debate: a point that a side makes, and what became of it. A model reads both (`core.methods.clash`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from core.audit.rubric import Rubric

Status = Literal["answered", "ignored", "unclear"]
STATUSES: Final[tuple[Status, ...]] = ("answered", "ignored", "unclear")
SPEECHES: Final = Rubric("clash", "Which points of a debate are answered, ignored, or decide the judge?", unit="speech")


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a side, in words of its speeches. answer: words of another side, `answered_by`, that answer it; verdict: words
    of the judge that take it up; "" if there are none. status: "unclear" if the reader quotes an answer that stands in no
    speech of another side."""

    side: str
    point: str
    status: Status
    answer: str = ""
    answered_by: str = ""
    verdict: str = ""
