"""Why a row was predicted so: whose sentence is quoted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.base.types import MarkedPassage
from core.features.reading.row_reason import (
    LONGEST,
    Reason,
    deciding_stage,
    find_reason,
    passages_in,
)
from core.methods.brief_checks import check_brief

ARGUMENT = (
    "Pa is a kinase of the membrane and Ga a nuclear factor. Both are expressed in these cells. "
    "Therefore knockdown of Pa does not significantly affect Ga in mouse macrophages."
)


def event(
    kind: str, content: str, role: str = "MODEL", stage: str = "de", **meta: Any
) -> dict[str, Any]:
    findings = check_brief(role, content, "Pa_Ga") if kind == "brief" else ()
    return {
        "kind": kind,
        "role": role,
        "stage": stage,
        "content": content,
        "findings": findings,
        "meta": meta,
    }


def debate(effect: str, null: str, verdict: str, **meta: Any) -> Reason | None:
    events = [
        event("brief", effect, "EFFECT"),
        event("brief", null, "NULL"),
        event("verdict", verdict, "JUDGE", **meta),
    ]
    return find_reason({"call": "none", "label": None}, events)


def test_the_judge_is_quoted_where_it_gave_a_reason() -> None:
    found = debate("A", "C", "The two genes share no pathway at all.\n<prob>18</prob>", p=0.18)
    assert found == Reason(
        "The two genes share no pathway at all.",
        "the judge (18%)",
        "EFFECT answers A, NULL answers C",
    )


def test_else_the_advocate_whom_it_followed_by_the_sentence_that_concludes() -> None:
    found = debate("C", ARGUMENT, "<prob>18</prob>", p=0.18)
    assert (
        found.quote
        == "Therefore knockdown of Pa does not significantly affect Ga in mouse macrophages."
    )
    assert found.source == "NULL, whom the judge (18%) followed"
    assert found.sides == "EFFECT answers C, NULL argues in 3 sentences"


def test_else_the_one_whom_it_did_not_follow_and_else_nobody() -> None:
    found = debate("C", ARGUMENT, "<prob>82</prob>", p=0.82)
    assert found.source == "NULL, whom the judge (82%) did not follow"
    assert debate("A", "C", "<prob>82</prob>", p=0.82) == Reason(
        "", "the judge (82%) gave no reason", "EFFECT answers A, NULL answers C"
    )
    unread = debate("A", "C", "?", p=0.45, fallback=True)
    assert unread.source == "the judge (45%) could not be read: a constant replaces it"


@pytest.mark.parametrize(
    ("effect", "null", "sides"),
    [
        (ARGUMENT, ARGUMENT, "EFFECT argues in 3 sentences, NULL argues in 3 sentences"),
        (
            ARGUMENT,
            f"{ARGUMENT} Pa is far from Ga in every network.",
            "EFFECT argues in 3 sentences, NULL argues in 4 sentences",
        ),
        ("C", "C", "EFFECT answers C, NULL answers C"),
        ("", "", "EFFECT says nothing, NULL says nothing"),
        ("", "C", "EFFECT says nothing, NULL answers C"),
    ],
)
def test_what_both_advocates_did_is_said(effect: str, null: str, sides: str) -> None:
    found = debate(effect, null, "<prob>50</prob>", p=0.5)
    assert found.sides == sides


def passage(
    text: str, role: str = "EFFECT", stage: str = "de", rubric: str = "argues"
) -> MarkedPassage:
    return MarkedPassage(stage, role, rubric, "yes", text)


NEWEST, OLDER = (
    passage("Pa binds Ga.", "NULL"),
    passage("Pa is far from Ga.", "NULL", rubric="cites"),
)


@pytest.mark.parametrize(
    ("passages", "quote", "source"),
    [
        ([NEWEST, OLDER], "Pa binds Ga.", "NULL, marked for the rubric argues: yes"),
        ([OLDER, NEWEST], "Pa is far from Ga.", "NULL, marked for the rubric cites: yes"),
        (
            [passage("Of EFFECT."), NEWEST],
            "Pa binds Ga.",
            "NULL, marked for the rubric argues: yes",
        ),  # whom the judge followed
        (
            [NEWEST, passage("Of the row.", "", "")],
            "Of the row.",
            "marked for the rubric argues: yes",
        ),
        ([passage("Of EFFECT.")], "Of EFFECT.", "EFFECT, marked for the rubric argues: yes"),
        (
            [passage("Of UP.", "UP", "dir")],
            ARGUMENT[-80:],
            "NULL, whom the judge (18%) followed",
        ),  # of the other question
    ],
)
def test_a_marked_passage_speaks_where_the_judge_does_not(
    passages: list[MarkedPassage], quote: str, source: str
) -> None:
    events = [event("brief", "A", "EFFECT"), event("brief", ARGUMENT, "NULL")]
    row = {"call": "none", "label": None}
    found = find_reason(
        row, [*events, event("verdict", "<prob>18</prob>", "JUDGE", p=0.18)], passages
    )
    assert (found.quote, found.source) == (quote, source)
    said = event(
        "verdict", "The two genes share no pathway at all. <prob>18</prob>", "JUDGE", p=0.18
    )
    judged = find_reason(row, [*events, said], passages)
    assert judged.source == "the judge (18%)"


def test_a_marked_passage_speaks_for_a_model_that_only_answers() -> None:
    row = {"call": "up", "label": None}
    assert find_reason(
        row, [event("text", "<answer>A</answer>")], [passage("Pa acts.", "FAST_MODEL", "")]
    ) == Reason("Pa acts.", "fast model, marked for the rubric argues: yes")


def test_passages_stand_in_the_text_that_was_read() -> None:
    brief = event("brief", "Pa binds Ga.", "EFFECT")
    of_whole_row = passage("binds Ga.", "", "")
    marked = [
        passage("Pa binds"),
        NEWEST,
        of_whole_row,
        of_whole_row,
        passage("not there"),
        passage("Pa binds", stage="dir"),
    ]
    assert passages_in(brief, marked) == ("Pa binds", "binds Ga.")


def test_an_agent_is_quoted_by_what_it_hands_in() -> None:
    reason = "No data link both genes. " + "They share no partner " * 20
    events = [
        event("thought", "I am done with this now."),
        event("tool_call", json.dumps({"answer": "C", "reasoning": reason})),
    ]
    found = find_reason({"call": "none", "label": "up"}, events)
    assert found.source == "the agent"
    assert found.quote.endswith("…")
    assert len(found.quote) <= LONGEST + 2


def test_a_text_without_a_sentence_gives_no_reason() -> None:
    found = find_reason(
        {"call": "up", "label": None}, [event("text", "</think>\n<answer>A</answer>")]
    )
    assert found == Reason("", "the model gave no reason")
    assert find_reason({"call": "up", "label": None}, []) is None


@pytest.mark.parametrize(
    ("call", "label", "stage"),
    [("up", "down", "dir"), ("up", "none", "de"), ("none", "up", "de"), ("up", None, "de")],
)
def test_the_direction_decided_where_the_run_is_wrong_about_it_alone(
    call: str, label: str | None, stage: str
) -> None:
    assert deciding_stage({"call": call, "label": label}) == stage


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        (
            "Knocking down Vps16 does not lower Phf21a.\n<answer>C</answer>",
            "Knocking down Vps16 does not lower Phf21a.",
        ),
        (
            f"Your answer has to be one of:\nA) {ARGUMENT[-80:]}\nC) {ARGUMENT[-81:]}\n<answer>A</answer>",
            "",
        ),
        (f"A) {ARGUMENT[-75:]}", ARGUMENT[-75:].strip()),  # an answer in full, not a list
    ],
)
def test_a_gene_whose_name_ends_in_a_letter_is_whole_and_a_list_of_options_is_no_reason(
    text: str, quote: str
) -> None:
    found = find_reason({"call": "none", "label": None}, [event("text", text)])
    assert found.quote == quote
