"""The claims of a row's briefs: those of rules and of a model are joined, each with what is known of it."""

from __future__ import annotations

from core.audit.claim_checks import Knowledge
from core.scoring.row_claims import claims_of_row

from core.audit.text_symbols import Symbols
from core.types import Pair

PAIR = Pair("Stat1_Irf1", "Stat1", "Irf1", None, "train")
SYMBOLS = Symbols(["Stat1", "Irf1", "Jak1"])
EVENTS = [
    {"kind": "brief", "content": "Loss of Stat1 lowers Irf1. STAT1 binds Jak1."},
    {"kind": "verdict", "content": "Stat1 activates Jak1."},
    {"kind": "brief", "content": "Nothing links them."},
]
BY_MODEL = [
    {"of_seq": 0, "subject": "JAK1", "relation": "binds", "object": "Stat1", "quote": "STAT1 binds Jak1."},
    {"of_seq": 0, "subject": "jak1", "relation": "activates", "object": "Stat1", "quote": "STAT1 binds Jak1."},
]


def test_each_claim_comes_once_with_its_readers_and_what_is_known() -> None:
    known = Knowledge({"collectri": {("stat1", "irf1"): -1}}, {"string": {frozenset(("stat1", "jak1")): 800}})
    found = claims_of_row(PAIR, EVENTS, BY_MODEL, SYMBOLS, known)
    assert list(found) == [EVENTS[0]["content"]]  # the brief without a claim and the verdict are left out
    said = [(" ".join(each.claim), each.verdict.status, each.readers, each.is_answer) for each in found[EVENTS[0]["content"]]]
    assert said == [
        ("Stat1 activates Irf1", "contradicted", ("rules",), True),
        ("Jak1 binds Stat1", "supported", ("rules", "model"), False),
        ("Jak1 activates Stat1", "not known", ("model",), False),
    ]
