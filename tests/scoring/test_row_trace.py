"""The trace of a row as people read it: rounds of speeches in the order of the sides, everything else in its own."""

from __future__ import annotations

import pytest

from core.scoring.row_trace import NO_DOSSIER, Event, has_argued, stages_of, why_no_dossier


def event(stage: str, role: str, kind: str, content: str = "", **meta: object) -> Event:
    return {
        "stage": stage,
        "role": role,
        "kind": kind,
        "content": content,
        "meta": meta,
        "findings": [],
    }


def test_a_debate_has_rounds_of_both_sides_and_loses_nobody() -> None:
    written = [
        event("de", "NULL", "brief", "n"),
        event("de", "EFFECT", "brief", "e", p=0.7),
        event("de", "REFEREE", "brief", "r"),
        event("de", "EFFECT", "rebuttal", "again"),
        event("de", "JUDGE", "verdict", "j", p=float("nan")),
        event("dir", "JUDGE", "verdict", "j", p=0.2, fallback=True),
    ]
    first, second = stages_of(written)
    assert [
        [[step.event["content"] for step in side] for side in each] for each in first.rounds
    ] == [
        [["e"], ["n"]],
        [["again"], []],
    ]
    assert [step.title for each in first.rounds for side in each for step in side] == [
        "EFFECT",
        "NULL",
        "EFFECT rebuts",
    ]
    assert [(step.title, step.p, step.is_speech) for step in first.steps] == [
        ("REFEREE", None, True),
        ("JUDGE", None, False),
    ]
    assert (first.rounds[0][0][0].p, second.rounds) == (0.7, ())
    assert second.steps[0].warning == "could not be read; a constant replaces it"
    assert [stage.title for stage in (first, second)] == [
        "Does it change at all?",
        "If it changes, up or down?",
    ]


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (["brief", "observation"], "among the steps"),
        (["brief"], NO_DOSSIER),
        (["text"], ""),
        ([], ""),
    ],
)
def test_where_a_dossier_is_missing_only_agents_are_said_to_have_had_one(
    kinds: list[str], said: str
) -> None:
    found = why_no_dossier([event("de", "UP", kind) for kind in kinds])
    assert said in found
    assert bool(said) == bool(found)


def test_an_argument_is_what_the_audit_finds_to_be_one() -> None:
    brief = event("de", "UP", "brief")
    assert not has_argued(brief)
    assert has_argued(brief | {"findings": ["argues", "answers"]})
