"""Does a brief argue, and for its side? The published briefs that were read one by one are in tests/real."""

from __future__ import annotations

import pytest

from core.audit.argument_checks import FAULTS, concludes_against, find_faults, sentences

GOOD = "Pa sits upstream of Ga. Its partners changed many genes. So {end}"
ENDS = {
    "EFFECT": "losing Pa is expected to change Ga.",
    "NULL": "losing Pa is unlikely to measurably alter Ga.",
    "UP": "losing Pa should raise Ga; its expression goes up.",
    "DOWN": "losing Pa leads to lower expression of Ga.",
}


@pytest.mark.parametrize("role", ENDS)
def test_a_brief_for_its_own_side_has_no_fault(role: str) -> None:
    assert find_faults(role, GOOD.format(end=ENDS[role]), "Pa", "Ga") == ()


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
    assert find_faults(role, GOOD.format(end=ENDS[end]), "Pa", "Ga") == ("conclusion",)


@pytest.mark.parametrize(
    ("role", "text", "expected"),
    [
        ("EFFECT", "Answer: C", True),
        ("EFFECT", "**Answer: C) no.**", True),
        ("EFFECT", "Answer: A", False),
        ("UP", "Knockdown of Pa does not significantly affect Ga.", True),
        ("UP", "Knockdown of Pa results in **down‑regulation** of Ga.", True),
        ("EFFECT", "Knockdown of Pa results in down-regulation of Ga.", False),  # an effect all the same
        ("EFFECT", "Ga could remain unchanged, yet the evidence favours an effect.", False),
        ("EFFECT", "An effect on Ga is more probable than no effect.", False),
        ("NULL", "Loss of Pa does not produce a detectable change in Ga.", False),
        ("NULL", "There is little reason to expect that Pa loss will alter Ga.", False),
        ("DOWN", "Ga is unlikely to be induced; losing Pa leads to reduced Ga.", False),
        ("JUDGE", "Answer: C. There is no effect.", False),
        ("UP", "", False),
    ],
)
def test_what_concludes_against(role: str, text: str, expected: bool) -> None:
    assert concludes_against(role, text) is expected


def test_only_the_first_sentence_and_the_last_two_conclude() -> None:
    middle = "Pa acts on Ga. The loss does not affect Gb. Ga is near. Ga rises."
    assert not concludes_against("UP", middle)
    assert concludes_against("UP", middle + " The loss does not affect Ga.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("sentences", "genes")),
        ("C)", ("sentences", "genes", "option")),
        ("Pa is near Ga. It acts.", ("sentences",)),
        ("Pa acts. It acts on Gab. It acts still.", ("genes",)),
        ("A) Pa acts. It acts on Ga. It acts still.", ("option",)),
        ("**Pa** acts. It acts on `ga`. It acts still.", ()),
    ],
)
def test_faults(text: str, expected: tuple[str, ...]) -> None:
    assert find_faults("UP", text, "Pa", "Ga") == expected
    assert set(expected) <= set(FAULTS)


def test_sentences() -> None:
    assert sentences("One is here. Two (2.5 per cent) is there!\n\n- Three.\n1.\nC") == [
        "One is here.",
        "Two (2.5 per cent) is there!",
        "- Three.",
    ]
