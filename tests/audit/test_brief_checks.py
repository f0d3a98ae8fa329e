"""Was a brief an argument?"""

from __future__ import annotations

import pytest

from core.audit import brief_checks
from core.types import Evidence, Flag, Prediction, RowResult, TraceEvent

LONG = "x" * brief_checks.SHORT


@pytest.mark.parametrize(
    ("role", "text", "expected"),
    [
        ("EFFECT", LONG, ()),
        ("EFFECT", LONG[1:], ("short",)),
        ("EFFECT", "C) " + LONG, ("option", "against")),
        ("EFFECT", "A) " + LONG, ("option",)),
        ("NULL", "**C) none** " + LONG, ("option",)),
        ("NULL", " \n(A) " + LONG, ("option", "against")),
        ("UP", "A) " + LONG, ("option",)),
        ("UP", "B) " + LONG, ("option", "against")),
        ("DOWN", "C) " + LONG, ("option", "against")),
        ("DOWN", "B) " + LONG, ("option",)),
        ("JUDGE", "C) " + LONG, ("option",)),  # a role without a side cannot contradict it
        ("UP", "C", ("short",)),  # a letter alone does not open with an option and a bracket
        ("UP", "D) " + LONG, ()),
        ("UP", "Answer: B) " + LONG, ()),
        ("UP", "", ("short",)),
    ],
)
def test_findings(role: str, text: str, expected: tuple[str, ...]) -> None:
    assert brief_checks.check_brief(role, text) == expected


def test_a_row_collapses_when_any_brief_is_an_option_and_cites_what_its_dossier_holds() -> None:
    seen = Evidence("gene_info", "Pa", "ok", "somewhere", None, {"name": "Kinase Nine", "go": ["heat response"], "symbol": "Pa"})
    empty = Prediction("Pa_Ga", 0.1, 0.1, 0.2, 0.5, "file")
    argued = TraceEvent("de", "EFFECT", "brief", "Its heat response says so. " + LONG)
    option = TraceEvent("de", "NULL", "brief", "A) " + LONG)
    verdict = TraceEvent("de", "JUDGE", "verdict", "C) <prob>1</prob>")
    findings, collapsed = brief_checks.check_rows(
        [RowResult(empty, (argued, verdict), (seen,)), RowResult(empty, (option, argued), ())]
    )
    assert findings == [("cites",), (), ("option", "against"), ()]
    assert collapsed == [False, True]


def test_the_rows_own_genes_are_no_citation() -> None:
    seen = Evidence("gene_info", "Perta", "ok", "somewhere", None, {"symbol": "Perta"})
    row = RowResult(
        Prediction("Perta_Genea", 0, 0, 0, None, "file"), (TraceEvent("de", "UP", "brief", "Perta " + LONG),), (seen,)
    )
    assert brief_checks.check_rows([row])[0] == [()]


def test_a_row_that_its_method_and_the_audit_find_collapsed_has_the_flag_once() -> None:
    flagged, plain = (
        RowResult(Prediction(key, 0.2, 0.2, 0.4, 0.5, "trace", flags))
        for key, flags in (("A_B", (Flag.ROLE_COLLAPSE, Flag.DE_FALLBACK)), ("A_C", ()))
    )
    assert brief_checks.flags_with_collapse([flagged, plain], [True, True]) == [
        [Flag.ROLE_COLLAPSE, Flag.DE_FALLBACK],
        [Flag.ROLE_COLLAPSE],
    ]
    assert brief_checks.flags_with_collapse([plain], [False]) == [[]]
