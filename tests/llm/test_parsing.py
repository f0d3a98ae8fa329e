from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.llm.parsing import Unparsed, answer_span, choice, label, marked_choice, probability
from core.types import Label

SUMMER = {"yes": 1.0, "no": 0.0, "insufficient evidence": 0.5, "insufficient": 0.5}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<prob>62</prob>", 0.62),
        ("<prob> 62.5 % </prob>", 0.625),
        ("<PROB>0</PROB>", 0.0),
        ("<prob>100</prob>", 1.0),
        ("<prob>-0</prob>", 0.0),
        ("Start at <prob>45</prob>, then <prob>60</prob>.", 0.6),  # the last
        ("It was 45%, 3 papers say so: <prob>60</prob>", 0.6),  # a tag before anything else
        ("<prob>62", 0.62),  # not closed
        ("<prob>62\nbecause of Stat1", 0.62),
        ("<prob>62</prob", 0.62),
        ("I say 62%.", 0.62),
        ("62 %", 0.62),
        ("**62%**", 0.62),
        ("The base rate is 45%.\nMine: 60%", 0.6),  # the last line
        ("So 60% it is, 60%.", 0.6),  # one value, twice
        ("62", 0.62),
        ("Probability: 62.", 0.62),
        ("Slc35b1, Gm1234, IL-6 and 9930111J21Rik2: 62", 0.62),  # digits in symbols are no numbers
        ("62\nSlc35b1 says so.", 0.62),  # none in the last line
    ],
)
def test_numbers(text: str, expected: float) -> None:
    assert probability(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no number"),
        ("Cbfb", "no number"),
        ("<prob>NN</prob>", "<prob> holds no number"),
        ("<prob>high</prob> say 62%", "<prob> holds no number"),
        ("<prob>120</prob>", "120 lies outside 0 to 100"),
        ("<prob>-5</prob>", "-5 lies outside"),
        ("<prob>62-65</prob>", "<prob> holds no number"),
        ("<prob>62abc", "<prob> holds no number"),
        ("120%", "120 lies outside"),
        ("-5", "-5 lies outside"),
        ("9" * 500, "inf lies outside"),
        ("40% or 60%", "2 numbers"),
        ("1, 2 and 3", "3 numbers"),
        ("40-60%", "no number"),
        ("62/100", "no number"),
        ("1,000", "no number"),
        ("0,62", "no number"),
        ("1e5", "no number"),
        ("−5", "no number"),  # a typographic minus
        ("Il6 2nd p53", "no number"),
    ],
)
def test_what_is_no_number(text: str, reason: str) -> None:
    found = probability(text)
    assert isinstance(found, Unparsed)
    assert found.reason.startswith(reason)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", Label.UP),
        ("B)", Label.DOWN),
        ("(C)", Label.NONE),
        ("**B**", Label.DOWN),
        ("<answer>B</answer>", Label.DOWN),
        ("<answer>\nB\n</answer>", Label.DOWN),
        ("Not <answer>A</answer> but <answer>B</answer>", Label.DOWN),  # the last
        ("A or B? C is out. <answer>B", Label.DOWN),  # not closed
        ("A is likely, C is not.\nAnswer: B", Label.DOWN),
        ("Final answer: B) Knockdown of Cbfb lowers Mmp14.", Label.DOWN),
        ("**Answer:** B", Label.DOWN),
        ("Answer: A\n\nOn reflection, answer: B", Label.DOWN),  # the last
        ("A and B are possible.\nI take B", Label.DOWN),  # the last line
        ("I take B\nbecause of Stat1", Label.DOWN),  # all of the text
        ("The answer is A because Cbfb represses.", Label.UP),
        ("Answer: A because Cbfb represses.", Label.UP),  # no article there
        ("<answer>A because Cbfb represses</answer>", Label.UP),
        ("A decrease is less likely than an increase: A", Label.UP),  # an article, and an A
        ("A\nB-cells and T-bet aside", Label.UP),
        ("A\nsince Cbfb represses", Label.UP),
        ("</think>\n\n<answer>C</answer>,", Label.NONE),
    ],
)
def test_letters(text: str, expected: Label) -> None:
    assert label(text) is expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "none of A, B, C is named"),
        ("a", "none"),
        ("AB", "none"),
        ("B-cell, Hla-A, C_1", "none"),
        ("A decrease is likely.", "none"),  # an article
        ("A decrease of Mmp14 follows, so B", "B and A are named"),  # an article or not
        ("Nothing binds. A is out, B is in", "B and A are named"),
        ("A or B", "B and A are named, expected one of A, B, C"),
        ("Answer: A or C", "A and C are named"),
        ("A\nB\nand that is all", "A and B are named"),
        ("<answer>A or B</answer> Answer: C", "A and B are named"),
    ],
)
def test_what_names_no_single_letter(text: str, reason: str) -> None:
    found = label(text)
    assert isinstance(found, Unparsed)
    assert found.reason.startswith(reason)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Yes.", 1.0), ("Answer: NO", 0.0), ("insufficient evidence", 0.5), ("There is nothing known: no", 0.0)],
)
def test_words_as_classes(text: str, expected: float) -> None:
    assert choice(text, SUMMER) == expected


def test_words_that_mean_the_same_are_one_class_and_others_are_not() -> None:
    assert choice("insufficient, that is: insufficient evidence", SUMMER) == 0.5
    assert isinstance(choice("yes and no", SUMMER), Unparsed)
    assert isinstance(choice("nobody eyes it", SUMMER), Unparsed)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("<answer>A</answer>", "A"),
        ("<answer>A</answer> <answer>B</answer>", "B"),
        ("<answer>A</answer> as asked in <answer>", "A"),
        ("x</answer><answer>A", "A"),
        ("<answer><answer>A</answer>", "A"),
        ("<answer>", ""),
    ],
)
def test_answer_span(text: str, inside: str) -> None:
    span = answer_span(text)
    assert span is not None
    assert text[slice(*span)] == inside
    assert answer_span("none here</answer>") is None


# Pieces that the parsers look for, so that random texts come close to what they read.
ALPHABET = [
    "<prob>",
    "</prob>",
    "<answer>",
    "</answer>",
    "Answer:",
    "A",
    "B",
    "C",
    " ",
    "\n",
    "%",
    ".",
    ",",
    "-",
    "1",
    "62",
    "1e9",
    "x",
]
texts = st.text() | st.lists(st.sampled_from(ALPHABET), max_size=30).map("".join)


@given(texts)
@example("<prob>" + "9" * 400 + "</prob>")
@example("<prob>٣٥</prob>")
def test_no_text_makes_them_raise_or_leave_their_range(text: str) -> None:
    found = probability(text)
    assert isinstance(found, Unparsed) or 0 <= found <= 1
    assert label(text) in (Label.UP, Label.DOWN, Label.NONE) or isinstance(label(text), Unparsed)


@given(st.integers(0, 100), texts.filter(lambda text: "<" not in text))
def test_a_tag_is_read_in_any_text_around_it(percent: int, text: str) -> None:
    assert probability(f"{text}<prob>{percent}</prob>{text}") == percent / 100


HOSTILE = [
    "1",
    " ",
    "<prob>",
    "<prob>1 ",
    "<prob> ",
    "1.",
    "1 ",
    "1%",
    "-",
    "A ",
    ". A ",
    ".\n",
    "answer",
    "answer:",
    "<answer>",
    "A a ",
    "**",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_no_faster_than_the_text(piece: str) -> None:
    """Sixteen times the text may take 64 times as long, not 256 times, as it would where time grew as the square."""

    def seconds(n: int) -> float:
        text = piece * (n // len(piece))
        best = float("inf")
        for _ in range(3):
            start = time.perf_counter()
            probability(text), label(text)
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds(160_000) < 64 * seconds(10_000) + 0.05


ANSWERS = {"yes": 1.0, "no": 0.0, "insufficient evidence": 0.5, "insufficient": 0.5}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1. There is no link.\n<answer>yes</answer>", 1.0),
        ("No way. <answer> No </answer> Yes, that is all.", 0.0),
        ("<answer>Insufficient evidence.</answer>", 0.5),
        ("So the answer:\n**insufficient**", 0.5),
        ("It may. Answer: yes", 1.0),
        ("Nothing speaks for it.\n**No.**", 0.0),
        ("<answer>no</answer> or rather <answer>yes", 0.0),  # the last closed one
    ],
)
def test_an_answer_in_words_is_read_where_it_is_marked(text: str, expected: float) -> None:
    assert marked_choice(text, ANSWERS) == expected


@pytest.mark.parametrize(
    "text",
    [
        "There is no link between them.",
        "<answer>A</answer> There is no doubt.",
        "<answer>yes or no</answer>",
        "",
        "Answer: perhaps",
    ],
)
def test_words_of_prose_are_no_answer(text: str) -> None:
    assert isinstance(marked_choice(text, ANSWERS), Unparsed)
