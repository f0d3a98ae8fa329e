from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.base.texts import (
    cell_text,
    check_name,
    estimate_text,
    list_known,
    number_text,
    parse_json,
    printable,
    quantity_text,
    replace_surrogates,
    table_lines,
)


def test_numbers_and_estimates() -> None:
    assert estimate_text(0.6214, 0.604, 0.638) == "0.621 [0.604, 0.638]"
    assert estimate_text(-0.0126, -0.03, 0.004, "+.3f") == "−0.013 [−0.030, +0.004]"
    assert estimate_text(0.5, np.nan, np.nan) == "0.500 [no interval]"
    assert estimate_text(np.nan, np.nan, np.nan) == number_text(np.nan) == "–"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5.49e-11, "5.49 × 10⁻¹¹"),
        (-1.5e-7, "−1.5 × 10⁻⁷"),
        (9.999e-6, "1 × 10⁻⁵"),
        (0.00123, "0.00123"),
        (0.5, "0.5"),
        (123.45, "123"),
        (999.9, "1,000"),
        (12345.6, "12,346"),
        (6.02e23, "6.02 × 10²³"),
        (0.0, "0"),
        (float("nan"), "–"),
        (float("-inf"), "−inf"),
    ],
)
def test_quantities_of_any_size_are_read_in_a_sentence(value: float, text: str) -> None:
    assert quantity_text(value) == text


def test_both_halves_of_a_pair_are_joined_and_one_alone_is_marked() -> None:
    assert replace_surrogates("a\ud83d b \ud83d\ude00 \ude00") == "a\ufffd b \U0001f600 \ufffd"


@given(st.text(st.sampled_from("aé☃\U0001f600\ud83d\ude00"), max_size=8))
def test_what_is_no_surrogate_stays(text: str) -> None:
    halves = re.sub(
        "[\ud800-\udbff][\udc00-\udfff]", "\U0001f600", text
    )  # the only pair of this alphabet
    assert replace_surrogates(text) == re.sub("[\ud800-\udfff]", "\ufffd", halves)


@pytest.mark.parametrize(
    "name", ["debate", "Läufe 2", "κNN – 遺伝子", "a", "n" * 255, "e\u0301", "=SUM(A1)"]
)
def test_names_that_can_be_told_apart(name: str) -> None:
    check_name("run", name)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "0 characters, expected 1 to 255"),
        ("n" * 256, "256 characters, expected 1 to 255"),
        (" \u00a0\u3000", "only blanks, expected characters that can be seen"),
        (
            "ab\ncd",
            "character 3 of 'ab\\ncd' is U+000A, expected characters that can be seen",
        ),
        ("\x1b[31m", "U+001B"),
        ("a\u200bb", "U+200B"),
        ("a\u202eb", "U+202E"),
        ("a\u2066b", "U+2066"),
        ("\ufeffa", "U+FEFF"),
        ("a\ufe0f", "U+FE0F"),
        ("a\u3164", "U+3164"),
        ("a\U000e0041", "U+E0041"),
        ("a\ud800", "U+D800"),
        ("a\ue000", "U+E000"),
    ],
)
def test_names_that_cannot(name: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        check_name("run", name)
    assert words in str(caught.value)
    assert str(caught.value).startswith("name of a run: ")
    assert str(caught.value).isprintable()


@given(st.text(min_size=1, max_size=50))
def test_a_name_that_is_taken_is_printable_and_can_be_written(name: str) -> None:
    try:
        check_name("run", name)
    except InputError:
        return
    assert name.encode().decode() == name
    assert "".join(name.splitlines()) == name
    assert printable(name).isprintable()


def test_names_that_are_like_one_that_is_not_there() -> None:
    known = ["track_b_sharp", "track_b_react", "fused", "kNN text", "a", "b", "c"]
    assert list_known("track", known) == "did you mean track_b_sharp, track_b_react?"
    assert list_known("Fusde", known) == "did you mean fused?"
    assert (
        list_known("zzzzzz", known)
        == "which has track_b_sharp, track_b_react, fused, kNN text, a and 2 more"
    )
    assert list_known("", ["a"]) == "which has a"
    assert list_known("x", []) == "which has none"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        "[" * 5_000 + "]" * 5_000,
        b"[",
        "nan",
    ],
)
def test_json_that_cannot_be_read_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"nested too deeply|Expecting|Unterminated"):
        parse_json(text)
    assert parse_json('{"a": [1, null]}') == {"a": [1, None]}


def test_a_table_in_lines_has_numbers_on_the_right_and_no_empty_column() -> None:
    rows = [
        {"name": "a", "n": 1200, "none": None, "change": -0.5, "known": True},
        {"name": "long name", "n": np.int64(3), "none": None, "change": np.nan, "known": False},
    ]
    assert table_lines(rows) == [
        "name           n   change  known",
        "a          1,200  −0.5000  yes",
        "long name      3        –  no",
    ]
    assert table_lines([]) == []


def test_a_table_does_not_write_a_small_p_as_nothing() -> None:
    assert [cell_text(p) for p in (0.0, 1e-5, 1e-4)] == ["0.0000", "< 0.0001", "0.0001"]
    assert cell_text(1e-5, signed=True) == "+0.0000"
