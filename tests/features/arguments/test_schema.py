"""What a reader quotes rightly is kept as it stands, what it invents is counted and dropped, whatever the schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from core.base.types import Flag, RowResult
from core.features.arguments.findings import CLAIMS, CLASH
from core.features.arguments.methods.read_findings import METHOD
from core.features.arguments.schema import (
    Findings,
    Passage,
    Schema,
    find_passage,
    passages_of,
    read_findings,
    take_passage,
)
from core.llm.answers import Unread
from core.llm.messages import Reply, TokenLogprob, Usage
from core.methods.base import RowText, TextsOfRun
from tests.evidence.world import TEST
from tests.fakes.scripted import Script, ScriptedPrompt, serving, write_reply
from tests.methods.world import read_texts

TEXT = Passage(
    "de", "EFFECT", 0, {"EFFECT": (said := "Loss of STAT1 lowers\nIrf1. It binds Jak1, too.")}, said
)
BRIEFS = (
    RowText(0, "de", "EFFECT", "Stat1 activates Irf1, as is known."),
    RowText(1, "de", "NULL", "Nothing links them."),
)
VERDICT = "The m6A point of EFFECT moved me most.\n<prob>70</prob>"
DEBATES = (
    RowText(0, "de", "EFFECT", "Loss of m6A stabilises\nthe mRNA. Both genes share a program."),
    RowText(1, "de", "NULL", "The mRNA carries no m6A site. Nothing else links them."),
    RowText(2, "de", "JUDGE", VERDICT),
    RowText(3, "de", "EFFECT", "A second seed argues so."),
    RowText(4, "de", "NULL", "A second seed argues against it."),
    RowText(5, "de", "JUDGE", "<prob>40</prob>"),
    RowText(6, "de", "JUDGE", "Mean over 2 of 2 seeds: 0.550000."),
    RowText(7, "dir", "UP", "Nobody argues for DOWN."),
)


def claims(*given: tuple[object, object, object, object]) -> str:
    fields = CLAIMS.schema.names("word", "choice", "quote")
    return (
        "```json\n"
        + json.dumps({"claims": [dict(zip(fields, each, strict=True)) for each in given]})
        + "\n```"
    )


def points(*given: Mapping[str, Any]) -> str:
    return "Here:\n```json\n" + json.dumps({"points": given}) + "\n```"


def read_row(
    schema: Schema, texts: tuple[RowText, ...], answer: Callable[[ScriptedPrompt], str]
) -> RowResult:
    with serving(Script(answer=answer)) as url:
        return read_texts(
            METHOD, TextsOfRun({TEST.pair_id: texts}), url, run="parent", schema=schema.text
        )


def findings(schema: Schema, reply: str, passage: Passage) -> Findings:
    found = read_findings(schema, reply, passage)
    assert not isinstance(found, Unread)
    return found


def test_a_reading_says_of_each_brief_whether_it_claims_something_and_what() -> None:
    row = read_row(CLAIMS.schema, BRIEFS, write_reply)
    assert [(event.kind, event.role, event.meta["of_seq"]) for event in row.events] == [
        ("reading", "EFFECT", 0),
        ("finding", "EFFECT", 0),
        ("reading", "NULL", 1),
    ]
    assert [event.meta["answer"] for event in row.events if event.kind == "reading"] == [
        "yes",
        "no",
    ]
    assert row.events[1].content == "Stat1 activates Irf1: “Stat1 activates Irf1, as is known.”"
    assert (row.prediction.p_source, row.prediction.flags, len(row.calls)) == ("none", (), 2)


def test_quotations_and_genes_that_do_not_stand_in_the_text_are_counted_and_dropped() -> None:
    given = claims(
        (
            "stat1",
            "activates",
            "Irf1",
            "“Loss of STAT1 lowers Irf1.”",
        ),  # white space and quotation marks aside
        ("STAT1", "activates", "Irf1", "Loss of STAT1 lowers Irf1."),  # the same again
        ("STAT1", "binds", "Jak1", "It binds Jak1, too."),
        ("STAT1", "activates", "Irf1", "Stat1 drives Irf1."),
        ("STAT1", "activates", "Socs3", "It binds Jak1, too."),
    )
    found = findings(CLAIMS.schema, given, TEXT)
    assert found.invented == 2
    assert [
        [finding[name] for name in CLAIMS.schema.names("word", "choice", "quote")]
        for finding in found.findings
    ] == [
        ["STAT1", "activates", "Irf1", "Loss of STAT1 lowers\nIrf1."],
        ["STAT1", "binds", "Jak1", "It binds Jak1, too."],
    ]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("It claims little.", 'no JSON object with a list "claims"'),
        (
            claims(("STAT1", "loves", "Irf1", "It binds Jak1, too.")),
            "a relation is 'loves', expected one of activates",
        ),
        (
            claims(("STAT1", "binds", 3, "It binds Jak1, too.")),
            "expected the texts subject, relation, object, quote",
        ),
        ('{"claims": ["a"]}', "expected the texts"),
    ],
)
def test_what_does_not_fit_the_schema_is_unread(given: str, reason: str) -> None:
    found = read_findings(CLAIMS.schema, given, TEXT)
    assert isinstance(found, Unread)
    assert reason in found.reason


@pytest.mark.parametrize(
    "given",
    [
        "It is a draw.",
        '{"points": "none"}',
        '{"points": [{"side": 3}]}',
        '{"points": ["a"]}',
        "{" * 99,
    ],
)
def test_what_holds_no_points_is_unread(given: str) -> None:
    assert isinstance(
        read_findings(CLASH.schema, given, passages_of(CLASH.schema, DEBATES)[0]), Unread
    )


@pytest.mark.parametrize(("schema", "texts"), [(CLAIMS.schema, BRIEFS), (CLASH.schema, DEBATES)])
def test_a_row_that_cannot_be_read_says_so(schema: Schema, texts: tuple[RowText, ...]) -> None:
    row = read_row(schema, texts, lambda _: "It says little.")
    assert row.prediction.flags == (Flag.UNREAD,)
    assert [event.kind for event in row.events] == ["rejected", "reading"] * 2
    assert schema.listed in row.events[1].meta["unread"]
    assert "answer" not in row.events[1].meta


def test_debates_are_those_of_two_sides_and_a_verdict_ends_one() -> None:
    first, second = passages_of(CLASH.schema, DEBATES)
    assert (first.seq, dict(first.sides)) == (
        0,
        {"EFFECT": DEBATES[0].content, "NULL": DEBATES[1].content},
    )
    assert first.verdict == VERDICT
    assert (second.seq, list(second.sides), second.verdict) == (
        3,
        ["EFFECT", "NULL"],
        "",
    )  # a number gives no reason
    question = METHOD.question(TextsOfRun({}), TEST, first, {"schema": CLASH.schema.text})  # type: ignore[attr-defined]
    assert DEBATES[1].content in question[1].content
    [replied] = passages_of(
        CLASH.schema, (DEBATES[0], DEBATES[1], DEBATES[0]._replace(content="In reply."))
    )
    assert replied.sides["EFFECT"].endswith("program.\n\nIn reply.")


def test_a_reader_of_debates_that_quotes_rightly() -> None:
    row = read_row(CLASH.schema, DEBATES, write_reply)
    read = [event for event in row.events if event.kind == "reading"]
    assert [
        (event.meta["of_seq"], event.meta["roles"], event.meta["invented"]) for event in read
    ] == [
        (0, ["EFFECT", "NULL"], 0),
        (3, ["EFFECT", "NULL"], 0),
    ]
    first = [event for event in row.events if event.kind == "finding" and event.meta["of_seq"] == 0]
    assert [
        (event.role, event.meta["answer_by"], event.meta["verdict"] != "") for event in first
    ] == [
        ("EFFECT", "NULL", True),
        ("NULL", "", False),
    ]
    assert (row.prediction.p_source, row.prediction.flags, len(row.calls)) == ("none", (), 2)


def test_a_reader_that_invents_quotations() -> None:
    invented = {
        "side": "EFFECT",
        "point": "Both genes share a program.",
        "answer": "They share none.",
        "verdict": "I like this.",
    }
    given = points(
        invented, {**invented, "point": "It is well known."}, {**invented, "side": "NULL"}
    )
    found = findings(CLASH.schema, given, passages_of(CLASH.schema, DEBATES)[0])
    assert (
        found.invented == 4
    )  # an answer, words of the judge, and two points that their sides do not make
    [kept] = found.findings
    assert kept == {
        **{
            "side": "EFFECT",
            "point": "Both genes share a program.",
            "answer": "",
            "answer_by": "",
            "verdict": "",
        },
        "invented": ["answer", "verdict"],
    }


def test_quotations_are_kept_as_they_stand_and_each_point_once() -> None:
    given = {
        "side": "effect",
        "point": "“Loss of m6A stabilises the mRNA.”",
        "answer": "carries no m6A site",
        "verdict": "",
    }
    found = findings(CLASH.schema, points(given, given), passages_of(CLASH.schema, DEBATES)[0])
    [point] = found.findings
    assert (point["side"], point["point"]) == ("EFFECT", "Loss of m6A stabilises\nthe mRNA.")
    assert (point["answer"], point["answer_by"], found.invented) == (
        "carries no m6A site",
        "NULL",
        0,
    )


SPOKEN = "**Jak1** drives\nGm12345 through “Stat1”. Answer: C. It does."


def reply(content: str, parts: tuple[str, ...] = ()) -> Reply:
    tokens = tuple(TokenLogprob(part, -0.1, ((part, -0.1),)) for part in parts) or None
    return Reply(content, "", "stop", Usage(), tokens, "", "")


@pytest.mark.parametrize(
    ("copied", "kept"),
    [
        ("drives Gm12345 through", "drives\nGm12345 through"),  # white space is the text's
        ("through “Stat1”.", "through “Stat1”."),
        ("Answer: C.", "Answer: C."),
        ("drives Gm1234", ""),  # ends inside of a word
        ("Jak1 drives Gm12345", ""),  # it lacks the asterisks, so it is another text
        ("drives gm12345", ""),
        ("It", ""),
        ("", ""),
        ("Jak1 is known to drive Gm12345.", ""),
    ],
)
def test_a_passage_is_kept_where_it_stands_in_the_text_word_for_word(
    copied: str, kept: str
) -> None:
    assert find_passage(SPOKEN, copied) == kept


@pytest.mark.parametrize(
    ("content", "left", "passage"),
    [
        ("<answer>A</answer>\n<passage>Answer: C.</passage>", "<answer>A</answer>", "Answer: C."),
        ("<answer>A</answer> <Passage>\n“It does.”\n</PASSAGE>", "<answer>A</answer>", "It does."),
        ("<answer>A</answer><passage>cut off in the", "<answer>A</answer>", "cut off in the"),
        ("<passage>It does.</passage>\n<answer>A</answer>", "<answer>A</answer>", "It does."),
        ("<answer>A</answer><passage></passage>", "<answer>A</answer>", ""),
        ("<answer>A</answer>", "<answer>A</answer>", ""),
    ],
)
def test_a_passage_is_taken_out_of_the_reply(content: str, left: str, passage: str) -> None:
    taken, found = take_passage(reply(content))
    assert (taken.content, found) == (left, passage)


def test_tokens_of_the_passage_go_with_it_and_thinking_stays() -> None:
    parts = (
        "hm</think>",
        "<answer>",
        "B",
        "</answer>\n<pass",
        "age><answer>",
        "A",
        "</answer></passage>",
    )
    content = "".join(parts).removeprefix("hm</think>")
    taken, _ = take_passage(reply(content, parts))
    assert [token.token for token in taken.logprobs or ()] == [
        "hm</think>",
        "<answer>",
        "B",
        "</answer>\n<pass",
    ]
