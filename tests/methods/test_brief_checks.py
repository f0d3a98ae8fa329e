"""Is a brief an argument for its side? The published briefs that were read one by one are in tests/real."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.types import Evidence, Flag, Prediction, RowResult, TraceEvent
from core.methods.brief_checks import (
    BARE,
    FAULTS,
    FINDINGS,
    SHORT,
    check_brief,
    check_rows,
    find_faults,
    flags_with_collapse,
)
from core.methods.text_rules.text import split_sentences

LONG = "x" * SHORT
# The two published patterns as they are written down, each with its letter in the last group but one.
WIDE = re.compile(
    r"^\W*((the )?(final |correct )?answer( is)?\W*)?([ABC])(\)|\.(?=\s|$)|:|\W*$)", re.IGNORECASE
)
NARROW = re.compile(r"^\W*()([ABC])()\)")
AGAINST = {"EFFECT": "C", "NULL": "AB", "UP": "BC", "DOWN": "AC"}
GOOD = "Pa sits upstream of Ga. Its partners changed many genes. So {end}"
ENDS = {
    "EFFECT": "losing Pa is expected to change Ga.",
    "NULL": "losing Pa is unlikely to measurably alter Ga.",
    "UP": "losing Pa should raise Ga; its expression goes up.",
    "DOWN": "losing Pa leads to lower expression of Ga.",
}


def answered(role: str, text: str) -> tuple[str, ...]:
    """The findings about answers and lengths."""
    found = check_brief(role, text, "Pa_Ga")
    return tuple(
        name
        for name in ("answers", "answers_against", "bare", "short", "option", "against", "argues")
        if name in found
    )


@pytest.mark.parametrize(
    ("role", "text", "expected"),
    [
        ("EFFECT", LONG, ("argues",)),
        ("EFFECT", LONG[1:], ("short",)),
        ("EFFECT", "C) " + LONG, ("answers", "answers_against", "option", "against")),
        ("EFFECT", "A) " + LONG, ("answers", "option")),
        ("NULL", "**C) none** " + LONG, ("answers", "option")),
        ("NULL", " \n(A) " + LONG, ("answers", "answers_against", "option", "against")),
        ("UP", "B) " + LONG, ("answers", "answers_against", "option", "against")),
        ("DOWN", "C) " + LONG, ("answers", "answers_against", "option", "against")),
        (
            "JUDGE",
            "C) " + LONG,
            ("answers", "option"),
        ),  # a role without a side cannot contradict it
        ("UP", "C", ("answers", "answers_against", "bare", "short")),
        ("UP", "**A**\n", ("answers", "bare", "short")),
        ("UP", "Answer: A", ("answers", "bare", "short")),
        ("UP", "Answer: B) " + LONG, ("answers", "answers_against")),
        (
            "UP",
            "The final answer is **B.** " + LONG,
            ("argues",),
        ),  # no white space behind the full stop
        ("UP", "The final answer is B. " + LONG, ("answers", "answers_against")),
        ("DOWN", "correct answer: b: " + LONG, ("answers",)),
        ("UP", "A. " + LONG, ("answers",)),
        ("UP", "A.thaliana " + LONG, ("argues",)),
        ("UP", "A gene " + LONG, ("argues",)),
        ("UP", "D) " + LONG, ("argues",)),
        ("UP", "", ("bare", "short")),
        ("UP", "x" * BARE, ("bare", "short")),
        ("UP", "x" * (BARE + 1), ("short",)),
    ],
)
def test_answers(role: str, text: str, expected: tuple[str, ...]) -> None:
    assert answered(role, text) == expected


@given(
    st.sampled_from(sorted(AGAINST)),
    st.lists(
        st.sampled_from(
            [
                "the ",
                "final ",
                "correct ",
                "Answer",
                " is",
                "A",
                "b",
                "C",
                ")",
                ".",
                ":",
                " ",
                "\n",
                "*",
                "é",
                "_",
                "x",
            ]
        ),
        max_size=9,
    ).map("".join),
)
def test_answers_are_those_of_the_published_patterns(role: str, text: str) -> None:
    found = check_brief(role, text, "Pa_Ga")
    for pattern, names in ((WIDE, ("answers", "answers_against")), (NARROW, ("option", "against"))):
        match = pattern.match(text)
        letter = match[match.re.groups - 1].upper() if match else ""
        assert [name in found for name in names] == [
            match is not None,
            letter != "" and letter in AGAINST[role],
        ]
    assert set(found) <= set(FINDINGS)
    assert "answers" in found or "option" not in found


@pytest.mark.parametrize("role", ENDS)
def test_a_brief_for_its_own_side_has_no_fault(role: str) -> None:
    text = GOOD.format(end=ENDS[role])
    assert find_faults(role, text, "Pa", "Ga") == ()
    assert set(check_brief(role, text, "Pa_Ga")) - {"short", "argues"} == {
        "sentences",
        "genes",
        "own_side",
    }


@pytest.mark.parametrize(
    ("role", "end"),
    [
        ("EFFECT", "NULL"),
        ("NULL", "EFFECT"),
        ("NULL", "DOWN"),
        ("UP", "DOWN"),
        ("UP", "NULL"),
        ("DOWN", "UP"),
        ("DOWN", "NULL"),
    ],
)
def test_a_conclusion_for_the_other_side_is_found(role: str, end: str) -> None:
    text = GOOD.format(end=ENDS[end])
    assert find_faults(role, text, "Pa", "Ga") == ("other_side",)
    assert "own_side" not in check_brief(role, text, "Pa_Ga")


@pytest.mark.parametrize(
    ("role", "text", "own", "other"),
    [
        ("EFFECT", "I conclude this. Answer: C", False, True),
        ("EFFECT", "**Answer: C) no.**", False, True),
        ("EFFECT", "Answer: A", True, False),
        ("EFFECT", "So it falls (option B).", True, False),
        ("UP", "Knockdown of Pa does not significantly affect Ga.", False, True),
        ("UP", "Knockdown of Pa results in **down‑regulation** of Ga.", False, True),
        (
            "EFFECT",
            "Knockdown of Pa results in down-regulation of Ga.",
            True,
            False,
        ),  # an effect all the same
        ("EFFECT", "Ga could remain unchanged, yet the evidence favours an effect.", False, False),
        ("EFFECT", "An effect on Ga is more probable than no effect.", False, False),
        ("EFFECT", "Losing Pa is not expected to alter Ga.", False, False),  # missed
        ("NULL", "Loss of Pa does not produce a detectable change in Ga.", True, False),
        ("NULL", "There is little reason to expect that Pa loss will alter Ga.", False, False),
        ("UP", "Losing Pa leads to increased Ga.", True, False),
        ("UP", "Ga is unlikely to be induced.", False, False),
        ("DOWN", "Ga is unlikely to be induced; losing Pa leads to reduced Ga.", False, False),
        ("DOWN", "Losing Pa leads to reduced Ga.", True, False),
        (
            "UP",
            "Losing Pa leads to increased Ga. Answer: B",
            True,
            True,
        ),  # both: its first sentence and its last
        ("JUDGE", "Answer: C. There is no effect.", False, False),
        ("UP", "", False, False),
    ],
)
def test_what_a_brief_concludes(role: str, text: str, own: bool, other: bool) -> None:
    found = check_brief(role, text, "Pa_Ga")
    assert ("own_side" in found, "other_side" in found) == (own, other)


def test_only_the_first_sentence_and_the_last_two_conclude() -> None:
    middle = "Pa acts on Ga. The loss does not affect Gb. Ga is near. Ga rises."
    assert "other_side" not in check_brief("UP", middle, "Pa_Ga")
    assert "other_side" in check_brief("UP", middle + " The loss does not affect Ga.", "Pa_Ga")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("sentences", "genes")),
        ("C)", ("sentences", "genes", "answers")),
        ("Pa is near Ga. It acts.", ("sentences",)),
        ("Pa acts. It acts on Gab. It acts still.", ("genes",)),
        ("A) Pa acts. It acts on Ga. It acts still.", ("answers",)),
        ("Answer: A. Pa acts. It acts on Ga. It acts still.", ("answers",)),
        ("**Pa** acts. It acts on `ga`. It acts still.", ()),
    ],
)
def test_faults(text: str, expected: tuple[str, ...]) -> None:
    assert find_faults("UP", text, "Pa", "Ga") == expected
    assert set(expected) <= set(FAULTS)


def test_a_symbol_may_hold_the_underscore_that_separates_two() -> None:
    assert "genes" in check_brief("UP", "Pa_1 raises Ga.", "Pa_1_Ga")
    assert "genes" not in check_brief("UP", "Pa raises Ga.", "Pa_1_Ga")


def test_sentences() -> None:
    assert split_sentences("One is here. Two (2.5 per cent) is there!\n\n- Three.\n1.\nC") == [
        "One is here.",
        "Two (2.5 per cent) is there!",
        "- Three.",
    ]


def test_a_row_collapses_when_any_brief_answers_and_cites_what_its_dossier_holds() -> None:
    seen = Evidence(
        "gene_info",
        "Pa",
        "ok",
        "somewhere",
        None,
        {"name": "Kinase Nine", "go": ["heat response"], "symbol": "Pa"},
    )
    empty = Prediction("Pa_Ga", 0.1, 0.1, 0.2, 0.5, "file")
    argued = TraceEvent("de", "EFFECT", "brief", "Its heat response says so. " + LONG)
    letter = TraceEvent("de", "NULL", "brief", "a")
    verdict = TraceEvent("de", "JUDGE", "verdict", "C) <prob>1</prob>")
    findings, collapsed = check_rows(
        [RowResult(empty, (argued, verdict), (seen,)), RowResult(empty, (letter, argued), ())]
    )
    assert findings == [
        ("argues", "cites"),
        (),
        ("answers", "answers_against", "bare", "short"),
        ("argues",),
    ]
    assert collapsed == [False, True]


def test_the_rows_own_genes_are_no_citation() -> None:
    seen = Evidence("gene_info", "Perta", "ok", "somewhere", None, {"symbol": "Perta"})
    row = RowResult(
        Prediction("Perta_Genea", 0, 0, 0, None, "file"),
        (TraceEvent("de", "UP", "brief", "Perta " + LONG),),
        (seen,),
    )
    assert check_rows([row])[0] == [("argues",)]


def test_a_row_that_its_method_and_the_audit_find_collapsed_has_the_flag_once() -> None:
    flagged, plain = (
        RowResult(Prediction(key, 0.2, 0.2, 0.4, 0.5, "trace", flags))
        for key, flags in (("A_B", (Flag.ROLE_COLLAPSE, Flag.DE_FALLBACK)), ("A_C", ()))
    )
    assert flags_with_collapse([flagged, plain], [True, True]) == [
        [Flag.ROLE_COLLAPSE, Flag.DE_FALLBACK],
        [Flag.ROLE_COLLAPSE],
    ]
    assert flags_with_collapse([plain], [False]) == [[]]


# As the checks were written before they were made quick: the same findings, from plain regular expressions.
PLAIN_END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"')\]]))\s+(?=[\"'(\[]?[A-Z0-9])|\n+")
WORDS = "Foxp3|foxp3|Il2_a|Il2|_|x|A|B)|1.|Zβ|**|no change|Answer: |is |increased|–|’s|option C|will lead to up-regulation"
PIECES = st.sampled_from(
    [*WORDS.split("|"), ".", ". ", '!" ', "?) ", " ", "\n", "\n\n", "\t", "(", "\u202f"]
)


@given(st.lists(PIECES, max_size=25).map("".join))
def test_sentences_end_where_the_plain_expression_says(text: str) -> None:
    expected = [part for part in PLAIN_END.split(text.strip()) if re.search(r"[^\W\d_]{2,}", part)]
    assert split_sentences(text) == expected


@given(
    st.lists(PIECES, max_size=25).map("".join),
    st.sampled_from(["Foxp3_Il2", "x_Il2_a", "Zβ_A", "_x"]),
)
def test_both_genes_are_named_as_words_of_their_own(text: str, pair_id: str) -> None:
    plain = text.translate(str.maketrans({"–": "-", "’": "'", "\u202f": " ", "*": None}))
    parts = pair_id.split("_")

    def names(symbol):
        return re.search(rf"(?<!\w){re.escape(symbol)}(?!\w)", plain, re.IGNORECASE) is not None

    expected = any(
        names("_".join(parts[:at])) and names("_".join(parts[at:])) for at in range(1, len(parts))
    )
    assert ("genes" in check_brief("UP", text, pair_id)) == expected
