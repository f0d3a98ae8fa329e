"""The trace of a row as people read it, on a page, in a report and on a site: stages of speeches and steps, and who argued."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.scoring import row_words

Event = dict[str, Any]
NO_DOSSIER = "This file has no dossier, so the agents' evidence is unknown."
NO_TRACE = "This file has no trace of this row."
_AMONG_STEPS = "The tools' answers are among the steps below."
_SPEECHES = ("brief", "rebuttal")


@dataclass(frozen=True, slots=True)
class Step:
    """One text of a trace. title: who speaks, or what was done. p: the probability that it states, in [0, 1]; None without one.

    warning: the audit's about a brief, or about a verdict that could not be read; "" without one. event: as it is stored.
    """

    title: str
    p: float | None
    warning: str
    event: Event

    @property
    def is_speech(self) -> bool:
        """Whether it is a brief or a rebuttal."""
        return self.event["kind"] in _SPEECHES


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a trace. rounds: in a debate the briefs of each side in the order of `SIDES`, then the rebuttals; empty
    otherwise. steps: all other texts, in order; in a debate the judge's.
    """

    name: str
    rounds: tuple[tuple[tuple[Step, ...], ...], ...]
    steps: tuple[Step, ...]

    @property
    def title(self) -> str:
        """The question that the stage answers, or what happens in it."""
        return row_words.stage_title(self.name)


def stages_of(events: Sequence[Event]) -> list[Stage]:
    """Return the stages of a row's trace, in order. events: the fields of `TraceEvent`, meta a mapping."""
    names = dict.fromkeys(event["stage"] for event in events)
    return [stage_of(name, [event for event in events if event["stage"] == name]) for name in names]


def stage_of(name: str, events: Sequence[Event]) -> Stage:
    """Return the stage of a name, of these events."""
    sides = row_words.SIDES.get(name, ())
    if not sides or not any(event["kind"] == "brief" for event in events):
        titles = [row_words.step_title(event["role"], event["kind"], event["meta"]) for event in events]
        return Stage(name, (), tuple(map(_step, events, titles)))
    steps = [_step(event, f"{event['role']} rebuts" if event["kind"] == "rebuttal" else event["role"]) for event in events]
    rounds = [
        tuple(tuple(step for step in steps if (step.event["kind"], step.event["role"]) == (kind, side)) for side in sides)
        for kind in _SPEECHES
    ]
    rest = tuple(step for step in steps if not (step.is_speech and step.event["role"] in sides))
    return Stage(name, tuple(each for each in rounds if any(each)), rest)


def _step(event: Event, title: str) -> Step:
    p = event["meta"].get("p")
    stated = p if isinstance(p, int | float) and math.isfinite(p) else None
    return Step(title, stated, row_words.warning_of(event["findings"], event["meta"]), event)


def why_no_dossier(events: Sequence[Event]) -> str:
    """Return the sentence in place of a missing dossier; "" for a row that nobody argued about."""
    kinds = {event["kind"] for event in events}
    return _AMONG_STEPS if "observation" in kinds else NO_DOSSIER if "brief" in kinds else ""


def has_argued(brief: Event) -> bool:
    """Return whether a brief argues, by the audit's wide definition: it is long enough and is no answer to the question."""
    return "argues" in brief["findings"]
