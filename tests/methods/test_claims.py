"""The claims of a row's briefs: what a reader quotes rightly is kept as it stands, what it invents is counted and dropped."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from core.audit.claims import Claim
from core.methods.claims import METHOD, QuotedClaim, read_claims

from core.llm.parsing import Unparsed
from core.methods.base import RowText, TextsOfRun
from core.types import Flag, RowResult
from tests.evidence.world import TEST
from tests.fakes.scripted import Script, ScriptedPrompt, serving, write_reply
from tests.methods.test_judge_rubric import reply
from tests.methods.world import read_texts

TEXT = "Loss of STAT1 lowers\nIrf1. It binds Jak1, too."
TEXTS = (RowText(0, "de", "EFFECT", "Stat1 activates Irf1, as is known."), RowText(1, "de", "NULL", "Nothing links them."))


def claims(*said: tuple[object, object, object, object]) -> str:
    fields = ("subject", "relation", "object", "quote")
    return "```json\n" + json.dumps({"claims": [dict(zip(fields, each, strict=True)) for each in said]}) + "\n```"


def read_row(answer: Callable[[ScriptedPrompt], str]) -> RowResult:
    with serving(Script(answer=answer)) as url:
        return read_texts(METHOD, TextsOfRun({TEST.pair_id: TEXTS}), url, run="parent")


def test_a_reading_says_of_each_brief_whether_it_claims_something_and_what() -> None:
    row = read_row(write_reply)
    assert [(event.kind, event.role, event.meta["of_seq"]) for event in row.events] == [
        ("reading", "EFFECT", 0),
        ("claim", "EFFECT", 0),
        ("reading", "NULL", 1),
    ]
    assert [event.meta["answer"] for event in row.events if event.kind == "reading"] == ["yes", "no"]
    claim = row.events[1]
    assert claim.content == "Stat1 activates Irf1: “Stat1 activates Irf1, as is known.”"
    assert (row.prediction.p_source, row.prediction.flags, len(row.calls)) == ("none", (), 2)


def test_quotations_and_genes_that_do_not_stand_in_the_text_are_counted_and_dropped() -> None:
    said = claims(
        ("stat1", "activates", "Irf1", "“Loss of STAT1 lowers Irf1.”"),  # white space and quotation marks aside
        ("STAT1", "activates", "Irf1", "Loss of STAT1 lowers Irf1."),  # the same again
        ("STAT1", "binds", "Jak1", "It binds Jak1, too."),
        ("STAT1", "activates", "Irf1", "Stat1 drives Irf1."),
        ("STAT1", "activates", "Socs3", "It binds Jak1, too."),
        ("Irf1", "regulates", "IRF1", "Loss of STAT1 lowers Irf1."),  # no claim about two genes
    )
    found = read_claims(reply(said), TEXT, TEST)
    assert not isinstance(found, Unparsed)
    assert found.not_found == 2
    assert found.claims == (
        QuotedClaim(Claim("STAT1", "activates", "Irf1"), "Loss of STAT1 lowers\nIrf1."),
        QuotedClaim(Claim("Jak1", "binds", "STAT1"), "It binds Jak1, too."),
    )


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("It claims little.", 'no JSON object with a list "claims"'),
        (claims(("STAT1", "loves", "Irf1", "It binds Jak1, too.")), "a relation is 'loves', expected one of activates"),
        (claims(("STAT1", "binds", 3, "It binds Jak1, too.")), "expected the texts subject, relation, object, quote"),
        ('{"claims": ["a"]}', "expected the texts"),
    ],
)
def test_what_does_not_fit_the_schema_is_unread(said: str, reason: str) -> None:
    found = read_claims(reply(said), TEXT, TEST)
    assert isinstance(found, Unparsed)
    assert reason in found.reason


def test_a_brief_that_cannot_be_read_says_so() -> None:
    row = read_row(lambda _: "It claims little.")
    assert row.prediction.flags == (Flag.UNREAD,)
    assert [event.kind for event in row.events] == ["rejected", "reading"] * 2
    assert "claims" in row.events[1].meta["unread"]
    assert "answer" not in row.events[1].meta
