"""Tables that people open in spreadsheets, and files that programs read."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.workbook import encode, encode_for_spreadsheets
from core.runs.workspace import Workspace
from core.store import runs
from tests import commands

FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    '=HYPERLINK("http://x","y")',
    "＝1",
    "－A1",
]
PLAIN = ["debate", "", "Gm12", "-0.25", "+1e5", "-inf", "a=b", "0.5 − 0.2", "−3", "x\n=1", "'=1"]


def cells_of(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline="")))


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("kind", [object, "str", "category"])
def test_text_that_would_be_a_formula_is_shown_as_text(text: str, kind: object) -> None:
    frame = pd.DataFrame({"a": pd.Series([text, "plain"], dtype=kind), text: [1, 2]})
    shown = "'" + text.replace("\r", "\n")  # a lone CR would end the row
    assert cells_of(encode_for_spreadsheets(frame)) == [["a", shown], [shown, "1"], ["plain", "2"]]


@pytest.mark.parametrize("text", PLAIN)
def test_other_text_stays(text: str) -> None:
    assert cells_of(encode_for_spreadsheets(pd.DataFrame({"a": [text], "b": ["x"]})))[1] == [
        text,
        "x",
    ]


@pytest.mark.soak
@given(
    st.lists(st.floats(), min_size=1, max_size=20),
    st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=20),
)
def test_numbers_stay_to_the_last_digit(floats: list[float], whole: list[int]) -> None:
    for frame in (
        pd.DataFrame({"x": floats}),
        pd.DataFrame({"n": whole}),
        pd.DataFrame({"x": pd.Series(floats, dtype=object)}),
    ):
        assert encode_for_spreadsheets(frame) == encode(frame, "csv")


def test_missing_values_dates_and_lists_stay() -> None:
    frame = pd.DataFrame(
        {
            "a": [None, "=1"],
            "b": [np.nan, -1.0],
            "c": pd.to_datetime(["2026-01-01", None]),
            "flags": [["uncovered"], []],
        }
    )
    assert cells_of(encode_for_spreadsheets(frame))[1:] == [
        ["", "", "2026-01-01", "uncovered"],
        ["'=1", "-1.0", "", ""],
    ]


def test_the_frame_is_left_as_it_is() -> None:
    frame = pd.DataFrame({"a": ["=1"]})
    encode_for_spreadsheets(frame)
    assert frame["a"].tolist() == ["=1"]


@pytest.mark.soak
def test_what_programs_read_is_not_touched(small_workspace: Workspace) -> None:
    """The command `export` writes ids as they are, whatever they begin with."""
    with small_workspace.store.write() as db:
        run = runs.find(db, "debate").id
        db.execute(
            "UPDATE prediction SET pair_id = '=Pa_Ga' WHERE run = ? AND pair_id = 'Pa_Ga'", [run]
        )
        db.execute("UPDATE pair SET pair_id = '=Pa_Ga' WHERE pair_id = 'Pa_Ga'")
    done = commands.core(small_workspace.settings.workspace, "export", "debate")
    assert next(csv.DictReader(io.StringIO(done.out)))["pair_id"] == "=Pa_Ga"
