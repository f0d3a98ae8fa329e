from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.llm.answers import Unread
from core.llm.logprobs import LETTERS, LetterProbabilities, is_missing, letter_probabilities
from core.llm.messages import TokenLogprob

NAN, INF = math.nan, math.inf


def tokens(
    *parts: str,
    at: str = "A",
    alternatives: tuple[tuple[str, float], ...] = (),
    logprob: float = -0.1,
) -> list[TokenLogprob]:
    """Tokens of these texts; the first that reads `at` gets the log-probability and the alternatives."""
    place = parts.index(at)
    return [
        TokenLogprob(part, logprob, alternatives) if i == place else TokenLogprob(part, -0.01)
        for i, part in enumerate(parts)
    ]


def odds(found: LetterProbabilities | Unread) -> list[float]:
    assert isinstance(found, LetterProbabilities), found
    assert tuple(found.probabilities) == LETTERS
    return list(found.probabilities.values())


def test_by_hand() -> None:
    said = tokens(
        "<answer>",
        "A",
        "</answer>",
        alternatives=(("A", math.log(0.6)), ("B", math.log(0.3)), ("The", math.log(0.1))),
    )
    found = letter_probabilities(said)
    # C is missing: ln 0.3 − 20. Shares 0.6, 0.3 and 0.3·e^−20 of 0.9 and a little.
    assert odds(found) == pytest.approx([2 / 3, 1 / 3, 0.3 / 0.9 * math.exp(-20)], rel=1e-6)
    assert found == LetterProbabilities("A", found.probabilities)  # type: ignore[union-attr]


def test_a_letter_that_two_tokens_spell_has_the_sum_of_both() -> None:
    alternatives = (
        ("A", math.log(0.4)),
        (" A", math.log(0.2)),
        ("B", math.log(0.2)),
        ("C", math.log(0.1)),
        ("A", math.log(0.4)),
    )
    found = odds(
        letter_probabilities(tokens("<answer>", "A", "</answer>", alternatives=alternatives))
    )
    assert found == pytest.approx(
        [0.6 / 0.9, 0.2 / 0.9, 0.1 / 0.9]
    )  # the same token twice counts once


@pytest.mark.parametrize(
    ("parts", "at", "others"),
    [
        (("<", "answer", ">", "A", "</", "answer", ">"), "A", ("B", " C")),
        (("<answer", ">A", "</answer>"), ">A", (">B", ">C")),
        (("<answer>", " A", "</answer>"), " A", ("B", "\nC")),
        (("<answer>", "A</", "answer>"), "A</", ("B</", "C")),
        (("<ans", "wer>A</ans", "wer>"), "wer>A</ans", ("wer>B</ans", "wer>C<")),
        (
            ("<answer>A</answer>",),
            "<answer>A</answer>",
            ("<answer>B</answer>", "<answer>C</answer>"),
        ),
        (("<think><answer>C</answer>?</think> <answer>", "A", "</answer>"), "A", ("B", "C")),
        (("<answer>", "Ａ", "</answer>"), "Ａ", ("Ｂ", "C")),
        (("<answer>", "a", "</answer>"), "a", ("b", " c")),
        (("<answer>", "A"), "A", ("B", "C")),  # cut off by a stop string
        (("<answer>", "(", "A", ")", "</answer>"), "A", ("B", "C")),
        (("<answer>", "", "A", "", "</answer>"), "A", ("B", "C")),
        (("\ufffd\ufffd <answer>", "A", "</answer>"), "A", ("B", "C")),
    ],
)
def test_wherever_the_letter_stands_in_its_token(
    parts: tuple[str, ...], at: str, others: tuple[str, str]
) -> None:
    alternatives = ((at, math.log(0.5)), (others[0], math.log(0.3)), (others[1], math.log(0.2)))
    assert odds(
        letter_probabilities(tokens(*parts, at=at, alternatives=alternatives))
    ) == pytest.approx([0.5, 0.3, 0.2])


def test_what_spells_no_letter() -> None:
    alternatives = (
        ("A", -1.0),
        ("An", -0.1),
        ("D", -0.1),
        ("a", -0.1),
        ("A1", -0.1),
        ("", -0.1),
        ("Both", -0.1),
        ("B", -1.0),
        ("C", -1.0),
    )
    assert odds(
        letter_probabilities(tokens("<answer>", "A", alternatives=alternatives))
    ) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("nothing", [-INF, INF, NAN, -9999.0, -1e9])
def test_what_stands_for_nothing_is_missing(nothing: float) -> None:
    assert is_missing(nothing)
    alternatives = (("A", -1.0), ("B", nothing), ("C", -2.0))
    found = letter_probabilities(
        tokens("<answer>", "A", alternatives=alternatives, logprob=nothing)
    )
    # A −1, C −2, B the smallest found −2 minus 20.
    total = math.exp(-1) + math.exp(-2) + math.exp(-22)
    assert odds(found) == pytest.approx(
        [math.exp(-1) / total, math.exp(-22) / total, math.exp(-2) / total]
    )
    broken = letter_probabilities(
        tokens("<answer>", "A", alternatives=(("A", nothing), ("B", -1.0)), logprob=nothing)
    )
    assert broken == Unread("the answer A has no log-probability")


def test_without_alternatives_the_token_itself_counts() -> None:
    found = letter_probabilities(tokens("<answer>", "A"))
    rest = math.exp(-20)
    assert odds(found) == pytest.approx([1 / (1 + 2 * rest), rest, rest], rel=1e-6)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A", "no <answer>"),
        ("", "no <answer>"),
        ("<answer></answer>", "nothing is marked as the answer, expected one of A, B, C"),
        ("<answer>D</answer>", "'D' is marked"),
        ("<answer>A or B</answer>", "A and B are named"),
        ("<answer>Both</answer>", "'Both' is marked"),
        ("<answer>C</answer> or <answer>A</answer>", "2 different answers are marked"),
        ("<think>say <answer>A</answer>", "no <answer>"),
    ],
)
def test_where_there_is_no_letter(text: str, reason: str) -> None:
    found = letter_probabilities([TokenLogprob(text, -0.1)])
    assert isinstance(found, Unread)
    assert found.reason.startswith(reason)
    assert letter_probabilities([]) == Unread("no <answer>")


def test_the_content_must_say_the_same() -> None:
    said = tokens("think: <answer>", "A", "</answer>", alternatives=(("B", -1.0), ("C", -1.0)))
    assert isinstance(letter_probabilities(said, content="<answer>A</answer>"), LetterProbabilities)
    assert letter_probabilities(said, content="<answer>B</answer>") == Unread(
        "the tokens answer A, the content: B"
    )
    assert letter_probabilities(said, content="none") == Unread(
        "the tokens answer A, the content: no <answer>"
    )


def test_other_letters() -> None:
    said = tokens("<answer>", "Y", "</answer>", at="Y", alternatives=(("Y", -1.0), ("N", -1.0)))
    found = letter_probabilities(said, ("Y", "N"))
    assert isinstance(found, LetterProbabilities)
    assert found.probabilities == pytest.approx({"Y": 0.5, "N": 0.5})


logprob = st.floats(-30, 0) | st.sampled_from([NAN, -INF, -9999.0])


@pytest.mark.soak
@given(
    st.sampled_from(
        [
            "<answer>A</answer>",
            "Stat1 → up. <answer>B</answer>",
            "<answer>X</answer> <answer> A </answer>\n",
            "😀<answer>\nC",
        ]
    ),
    st.lists(st.integers(1, 40), max_size=12),
    st.fixed_dictionaries({"A": logprob, "B": logprob, "C": logprob}),
    st.sampled_from(["", ">", " "]),
)
def test_any_cut_of_the_text_gives_the_softmax(
    text: str, cuts: list[int], given_: dict[str, float], strange: str
) -> None:
    where = max(text.rfind(letter, text.rfind("<answer>") + 8) for letter in "ABC")
    edges = [0, *sorted({cut for cut in cuts if cut < len(text)}), len(text)]
    said = []
    for start, end in pairwise(edges):
        part = text[start:end]
        if start <= where < end:
            # Other letters in the same place of the same token, behind what stands before it there or behind a prefix.
            before, after = part[: where - start], part[where - start + 1 :]
            others = [
                (f"{before or strange}{letter}{after}", given_[letter])
                for letter in "ABC"
                if letter != text[where]
            ]
            said.append(TokenLogprob(part, given_[text[where]], (("</", -0.5), *others)))
        else:
            said.append(TokenLogprob(part, -0.2, (("A", -3.0), ("B", -0.1))))
    found = letter_probabilities(said)
    usable = {
        letter: value for letter, value in given_.items() if math.isfinite(value) and value > -9999
    }
    if text[where] not in usable:
        assert isinstance(found, Unread)
        return
    assert isinstance(found, LetterProbabilities)
    full = {letter: usable.get(letter, min(usable.values()) - 20) for letter in "ABC"}
    total = math.fsum(math.exp(value) for value in full.values())
    assert found.answered == text[where]
    assert found.probabilities == pytest.approx(
        {letter: math.exp(value) / total for letter, value in full.items()}
    )
    assert math.fsum(found.probabilities.values()) == pytest.approx(1)


@pytest.mark.soak
@given(
    st.lists(
        st.builds(
            TokenLogprob,
            st.text(max_size=9) | st.sampled_from(["<answer>", "A", "</answer>"]),
            st.floats(),
            st.lists(st.tuples(st.sampled_from(["A", "B", ">C", ""]), st.floats())).map(tuple),
        ),
        max_size=8,
    )
)
def test_no_tokens_make_it_raise_or_leave_its_range(said: list[TokenLogprob]) -> None:
    found = letter_probabilities(said)
    if isinstance(found, LetterProbabilities):
        assert all(0 <= p <= 1 for p in found.probabilities.values())
        assert math.fsum(found.probabilities.values()) == pytest.approx(1)
