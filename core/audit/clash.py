"""The clash of a debate: a point of one side, and whether it was answered. A model reads the debate (`core.methods.clash`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from core.audit.rubric import Rubric
from core.fields.record import setting

Status = Literal["answered", "ignored", "unclear"]
STATUSES: Final[tuple[Status, ...]] = ("answered", "ignored", "unclear")
SPEECHES: Final = Rubric("clash", "Which points of a debate are answered, ignored, or decide the judge?", unit="speech")


@dataclass(frozen=True, slots=True)
class PointsRequest:
    """The points to show: of which side, with which status, and whether the judge takes them up."""

    side: str = setting("", "Only points of this side.", title="Side", missing="any", changes_result=False)
    status: Literal["", "answered", "ignored", "unclear"] = setting(
        "", "Only points like this.", title="Points that are", words={"": "any"}, is_usage=True, changes_result=False
    )
    decisive: bool = setting(
        False,
        "The judge mentions them in its reasons; a judge who gives no reason takes up none.",
        title="Only points that the judge takes up",
        command_help="Only points that the judge takes up.",
        changes_result=False,
    )


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
