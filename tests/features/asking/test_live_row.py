"""A row as far as it has come: the same from events and from the store, whatever is lost on the way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.features.asking.page import live_row
from core.features.asking.page.live_row import MOST_WRITTEN, LiveRow


def event(kind: str, **facts: Any) -> Mapping[str, Any]:
    return {"kind": kind, "at": 7.0, **facts}


def answer(call: int, stage: str, role: str) -> list[Mapping[str, Any]]:
    where = {"call": call, "stage": stage, "role": role, "seed": 0, "streams": True}
    return [
        event("asked", **where),
        event("words", call=call, attempt=1, content="so", reasoning=""),
        event("answered", call=call, content="so", tokens=3, latency_ms=9.0, cached=False),
    ]


def test_what_could_not_be_read_is_said_alike_live_and_later() -> None:
    """A brief that does not argue for its side is asked for once more, then is what it is; a verdict has a number or not."""
    effect, judge = ({"stage": "de", "role": role, "seed": 0} for role in ("EFFECT", "JUDGE"))
    live = LiveRow()
    live.take(
        [
            *(*answer(0, "de", "EFFECT"), event("rejected", why="argues for the other", **effect)),
            *(*answer(1, "de", "EFFECT"), event("read", p=None, **effect)),
            *(*answer(2, "de", "JUDGE"), event("rejected", why="no number", **judge)),
            *(*answer(3, "de", "JUDGE"), event("read", p=None, **judge)),
            *(*answer(4, "dir", "JUDGE"), event("read", stage="dir", role="JUDGE", seed=0, p=0.25)),
        ]
    )
    kept = [
        ("de", "EFFECT", "rejected", {"why": "argues for the other"}),
        ("de", "EFFECT", "brief", {"seed": 0, "role_collapse": "argues for the other"}),
        ("de", "JUDGE", "rejected", {"why": "no number"}),
        ("de", "JUDGE", "verdict", {"seed": 0, "p": None}),
        ("dir", "JUDGE", "verdict", {"seed": 0, "p": 0.25}),
    ]
    names = ("stage", "role", "kind", "meta")
    events = [
        {**dict(zip(names, each, strict=True)), "content": "so", "tokens": 3, "latency_ms": 9.0}
        for each in kept
    ]
    numbers = dict.fromkeys(
        ("p_de", "p_up_given_de", "prediction_up", "prediction_down", "tokens", "error", "flags")
    )
    stored = live_row.of_store({"pair_id": "a_b", "pert": "a", "gene": "b", **numbers}, events, [])
    expected = [
        "asked once more: argues for the other",
        "",
        "asked once more: no number",
        "could not be read",
        "",
    ]
    assert [speech.error for speech in live.speeches.values()] == expected
    assert [speech.error for speech in stored.speeches.values()] == expected
    assert live.p_of("dir") == stored.p_of("dir") == 0.25


def test_a_row_that_is_given_up_writes_and_counts_no_more() -> None:
    row = LiveRow()
    row.take([event("row", pair_id="a_b", pert="a", gene="b"), *answer(0, "de", "EFFECT")[:2]])
    assert "▍" in live_row.draw_stage(row, "de", simulated=False)
    row.take([{"kind": "ended", "at": 9.0, "error": "", "given_up": True}])
    assert not row.is_over
    assert "▍" not in live_row.draw_stage(row, "de", simulated=False)
    assert "2.0 s" in live_row.draw_numbers(
        row, simulated=False
    )  # from 7 to 9, whatever the time is
    row.take(
        [event("row", pair_id="a_b", pert="a", gene="b"), *answer(0, "de", "EFFECT")[:2]]
    )  # it goes on
    assert "▍" in live_row.draw_stage(row, "de", simulated=False)


def test_events_of_a_call_whose_beginning_was_lost_are_passed_over() -> None:
    row = LiveRow()
    row.take([*answer(0, "de", "EFFECT")[1:], *answer(1, "de", "NULL")])
    assert [speech.role for speech in row.speeches.values()] == ["NULL"]


def test_of_a_text_that_is_being_written_the_end_is_kept_and_of_an_answer_all() -> None:
    row = LiveRow()
    asked = [event("asked", call=1, stage="de", role="JUDGE", seed=1, streams=True)]
    words = event("words", call=1, attempt=1, content="word " * 100, reasoning="hm " * 100)
    row.take([*asked, *(words for _ in range(200))])
    speech = row.speeches[1]
    assert len(speech.content) == len(speech.reasoning) == MOST_WRITTEN
    assert speech.content.startswith("…")
    row.take([event("answered", call=1, content="word " * 20_000, tokens=1, cached=False)])
    assert len(speech.content) == 100_000
