"""The trace of a row as people read it, on a page, in a report and on a site: stages of speeches
and steps, and who argued."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

Event = dict[str, Any]
NO_DOSSIER = "This file has no dossier, so the agents' evidence is unknown."
NO_TRACE = "This file has no trace of this row."
_AMONG_STEPS = "The tools' answers are among the steps below."
_SPEECHES = ("brief", "rebuttal")
SIDES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"de": ("EFFECT", "NULL"), "dir": ("UP", "DOWN")}
)
_STAGES = {
    "de": "Does it change at all?",
    "dir": "If it changes, up or down?",
    "react": "What the agent did",
    "coordinator": "Steps of the coordinator",
    "trace": "Trace",
    "knn": "Neighbours",
    "fusion": "The fusion's arithmetic",
    "decompose": "Recovered from a fusion",
    "rules": "The rule set's table",
    "mean": "Mean over seeds",
    "inspect": "The messages of the log",
    "summarise": "Facts about the two genes",
    "retrieve": "Most similar labelled pairs",
}
# of tags that models are asked for
TAG_MEANINGS = {"prob": "probability given:", "answer": "answer given:"}
TAG = re.compile(r"<(prob|answer)>([^<>\n]*)</\1>", re.IGNORECASE)
# The gravest first: a brief shows one warning at most.
_BRIEF_WARNINGS = {
    "answers_against": "an answer against its own side",
    "answers": "an answer, not an argument",
    "other_side": "concludes for the other side",
    "short": "one line",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One text of a trace. title: who speaks, or what was done. p: the probability that it states,
    in [0, 1]; None without one.

    warning: the audit's about a brief, or about a verdict that could not be read; "" without one.
    event: as it is stored.
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
    """One stage of a trace. rounds: in a debate the briefs of each side in the order of `SIDES`,
    then the rebuttals; empty otherwise. steps: all other texts, in order; in a debate the judge's.
    """

    name: str
    rounds: tuple[tuple[tuple[Step, ...], ...], ...]
    steps: tuple[Step, ...]

    @property
    def title(self) -> str:
        """The question that the stage answers, or what happens in it."""
        return stage_title(self.name)


def stages_of(events: Sequence[Event]) -> list[Stage]:
    """Return the stages of a row's trace, in order. events: the fields of `TraceEvent`, meta a
    mapping."""
    names = dict.fromkeys(event["stage"] for event in events)
    return [stage_of(name, [event for event in events if event["stage"] == name]) for name in names]


def stage_of(name: str, events: Sequence[Event]) -> Stage:
    """Return the stage of a name, of these events."""
    sides = SIDES.get(name, ())
    if not sides or not any(event["kind"] == "brief" for event in events):
        titles = [step_title(event["role"], event["kind"], event["meta"]) for event in events]
        return Stage(name, (), tuple(map(_step, events, titles)))
    steps = [
        _step(event, f"{event['role']} rebuts" if event["kind"] == "rebuttal" else event["role"])
        for event in events
    ]
    rounds = [
        tuple(
            tuple(
                step for step in steps if (step.event["kind"], step.event["role"]) == (kind, side)
            )
            for side in sides
        )
        for kind in _SPEECHES
    ]
    rest = tuple(step for step in steps if not (step.is_speech and step.event["role"] in sides))
    return Stage(name, tuple(each for each in rounds if any(each)), rest)


def _step(event: Event, title: str) -> Step:
    p = event["meta"].get("p")
    stated = p if isinstance(p, int | float) and math.isfinite(p) else None
    return Step(title, stated, warning_of(event["findings"], event["meta"]), event)


def why_no_dossier(events: Sequence[Event]) -> str:
    """Return the sentence in place of a missing dossier; "" for a row that nobody argued about."""
    kinds = {event["kind"] for event in events}
    return _AMONG_STEPS if "observation" in kinds else NO_DOSSIER if "brief" in kinds else ""


def has_argued(brief: Event) -> bool:
    """Return whether a brief argues, by the audit's wide definition: it is long enough and is no
    answer to the question."""
    return "argues" in brief["findings"]


def stage_title(stage: str) -> str:
    """Return the title of a stage of a trace."""
    return _STAGES.get(stage, stage.replace("_", " "))


def warning_of(findings: Collection[str], meta: Mapping[str, Any]) -> str:
    """Return the warning about a brief (from the audit's findings) or a verdict; "" without one."""
    if meta.get("fallback"):
        return "could not be read; a constant replaces it"
    gravest = next((finding for finding in _BRIEF_WARNINGS if finding in findings), "")
    if gravest == "answers" and "short" not in findings:
        return "an answer, with reasons"
    return _BRIEF_WARNINGS.get(gravest, "")


def step_title(role: str, kind: str, meta: Mapping[str, Any]) -> str:
    """Return the title of an event outside debates, with its seed, the parsed answer and the
    predicted numbers."""
    parts = [f"seed {meta['seed']}"] if "seed" in meta else []
    if "answer" in meta:
        parts.append(meta["answer"] or "could not be read")
    parts += [
        f"{k.removeprefix('prediction_')} {v:.3f}"
        for k, v in meta.items()
        if k.startswith("prediction_") and _is_number(v)
    ]
    if _is_number(meta.get("p")):
        parts.append(f"{100 * meta['p']:.0f}%{', a base rate' if meta.get('fallback') else ''}")
    details = f" ({', '.join(parts)})" if parts else ""
    return f"{role}{details}" if kind == "text" else f"{role}: {kind.replace('_', ' ')}{details}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def spell_tags(text: str) -> str:
    """Return a model's text with its tags replaced by their meaning: "answer given: B"."""
    return TAG.sub(
        lambda found: f"{TAG_MEANINGS[found[1].lower()]} {found[2].strip() or '–'}", text
    )
