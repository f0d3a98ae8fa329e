"""The clash of a row's debates: what a reader quotes rightly is kept as it stands, what it invents is counted and dropped."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from core.audit.clash import Point
from core.methods.clash import METHOD, messages_of, read_points, split_debates

from core.llm.parsing import Unparsed
from core.methods.base import RowText, TextsOfRun
from core.types import Flag, RowResult
from tests.evidence.world import TEST
from tests.fakes.scripted import Script, ScriptedPrompt, serving, write_reply
from tests.methods.test_judge_rubric import reply
from tests.methods.world import read_texts

VERDICT = "The m6A point of EFFECT moved me most.\n<prob>70</prob>"
TEXTS = (
    RowText(0, "de", "EFFECT", "Loss of m6A stabilises\nthe mRNA. Both genes share a program."),
    RowText(1, "de", "NULL", "The mRNA carries no m6A site. Nothing else links them."),
    RowText(2, "de", "JUDGE", VERDICT),
    RowText(3, "de", "EFFECT", "A second seed argues so."),
    RowText(4, "de", "NULL", "A second seed argues against it."),
    RowText(5, "de", "JUDGE", "<prob>40</prob>"),
    RowText(6, "de", "JUDGE", "Mean over 2 of 2 seeds: 0.550000."),
    RowText(7, "dir", "UP", "Nobody argues for DOWN."),
)


def points(*said: dict[str, Any]) -> str:
    return "Here:\n```json\n" + json.dumps({"points": said}) + "\n```"


def read_row(answer: Callable[[ScriptedPrompt], str]) -> RowResult:
    with serving(Script(answer=answer)) as url:
        return read_texts(METHOD, TextsOfRun({TEST.pair_id: TEXTS}), url, run="parent")


def test_debates_are_those_of_two_sides_and_a_verdict_ends_one() -> None:
    first, second = split_debates(TEXTS)
    assert (first.debate, dict(first.sides), first.verdict) == (
        0,
        {"EFFECT": TEXTS[0].content, "NULL": TEXTS[1].content},
        VERDICT,
    )
    assert (second.debate, list(second.sides), second.verdict) == (1, ["EFFECT", "NULL"], "")  # a number gives no reason
    assert TEXTS[1].content in messages_of(TEST, first)[1].content
    replied = split_debates((TEXTS[0], TEXTS[1], TEXTS[0]._replace(content="In reply.")))
    assert replied[0].sides["EFFECT"].endswith("program.\n\nIn reply.")


def test_a_reader_that_quotes_rightly() -> None:
    row = read_row(write_reply)
    assert [(event.kind, event.meta["debate"], event.meta["not_found"]) for event in row.events] == [
        ("clash", 0, 0),
        ("clash", 1, 0),
    ]
    first = [Point(**each) for each in row.events[0].meta["points"]]
    assert [(each.side, each.status, each.answered_by, each.verdict != "") for each in first] == [
        ("EFFECT", "answered", "NULL", True),
        ("NULL", "ignored", "", False),
    ]
    assert (row.prediction.p_source, row.prediction.flags, len(row.calls)) == ("none", (), 2)


def test_a_reader_that_invents_quotations() -> None:
    invented = {"side": "EFFECT", "point": "Both genes share a program.", "answer": "They share none.", "verdict": "I like this."}
    row = read_row(lambda _: points(invented, {**invented, "point": "It is well known."}, {**invented, "side": "NULL"}))
    first = row.events[0].meta
    assert first["not_found"] == 4  # an answer, words of the judge, and two points that their sides do not make
    [kept] = first["points"]
    assert Point(**kept) == Point("EFFECT", "Both genes share a program.", "unclear")
    assert row.events[1].meta["points"] == []


def test_quotations_are_shown_as_they_stand_and_each_point_once() -> None:
    said = {"side": "effect", "point": "“Loss of m6A stabilises the mRNA.”", "answer": "carries no m6A site", "verdict": ""}
    found = read_points(reply(points(said, said)), split_debates(TEXTS)[0])
    assert not isinstance(found, Unparsed)
    point = Point("EFFECT", "Loss of m6A stabilises\nthe mRNA.", "answered", "carries no m6A site", "NULL")
    assert (found.points, found.not_found) == ((point,), 0)


@pytest.mark.parametrize(
    "said", ["It is a draw.", '{"points": "none"}', '{"points": [{"side": 3}]}', '{"points": ["a"]}', "{" * 99]
)
def test_what_holds_no_points_is_asked_for_again_and_then_flags_the_row(said: str) -> None:
    assert isinstance(read_points(reply(said), split_debates(TEXTS)[0]), Unparsed)


def test_a_row_that_cannot_be_read_says_so() -> None:
    row = read_row(lambda _: "It is a draw.")
    assert row.prediction.flags == (Flag.UNREAD,)
    assert [event.kind for event in row.events] == ["rejected", "clash"] * 2
    assert "points" in row.events[1].meta["unread"]
