"""Tables as CSV: no cell runs in a spreadsheet, and our own import reads every name as it was."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.workbook import encode, without_apostrophe
from core.runs.workspace import Workspace
from tests import cases, commands

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
PLAIN = ["debate", "", "Gm12", "-0.25", "+1e5", "-inf", "a=b", "0.5 − 0.2", "−3", "x\n=1", "'-0.25"]


def cells_of(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline="")))


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("kind", [object, "str", "category"])
def test_text_that_would_be_a_formula_is_shown_as_text(text: str, kind: object) -> None:
    frame = pd.DataFrame({"a": pd.Series([text, "plain"], dtype=kind), text: [1, 2]})
    shown = "'" + text.replace("\r", "\n")  # a lone CR would end the row
    assert cells_of(encode(frame, "csv")) == [["a", shown], [shown, "1"], ["plain", "2"]]


@pytest.mark.parametrize("text", PLAIN)
def test_other_text_stays(text: str) -> None:
    assert cells_of(encode(pd.DataFrame({"a": [text], "b": ["x"]}), "csv"))[1] == [
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
        assert encode(frame, "csv") == frame.to_csv(index=False).encode()


def test_missing_values_dates_and_lists_stay() -> None:
    frame = pd.DataFrame(
        {
            "a": [None, "=1"],
            "b": [np.nan, -1.0],
            "c": pd.to_datetime(["2026-01-01", None]),
            "flags": [["uncovered"], []],
        }
    )
    assert cells_of(encode(frame, "csv"))[1:] == [
        ["", "", "2026-01-01", "uncovered"],
        ["'=1", "-1.0", "", ""],
    ]


def test_the_frame_is_left_as_it_is() -> None:
    frame = pd.DataFrame({"a": ["=1"]})
    encode(frame, "csv")
    assert frame["a"].tolist() == ["=1"]


TEXTS = st.text("=+-@\t'\"aZ09.e,;\u00e9\uff1d ", max_size=6) | st.floats().map(str)


@given(TEXTS)
def test_what_was_written_is_read_as_it_was(text: str) -> None:
    [[_], [cell]] = cells_of(encode(pd.DataFrame({"a": [text or "x"]}), "csv"))
    assert without_apostrophe(cell) == (text or "x")
    assert not cell.startswith(RUNS) or is_number(cell)


RUNS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


HOSTILE = ["=HYPERLINK('http://x';'y')", "@SUM(A1)", "=1-2"]


@pytest.mark.parametrize(("pert", "gene"), zip(HOSTILE, reversed(HOSTILE), strict=True))
def test_a_run_is_exported_as_text_and_imported_under_its_names(
    workspace: Workspace, tmp_path: Path, pert: str, gene: str
) -> None:
    place = workspace.settings.workspace
    key = f"{pert}_{gene}"
    file, again = tmp_path / "file.csv", tmp_path / "again.csv"
    file.write_bytes(
        cases.as_csv(
            ["id", "pert", "gene", "label"], [[key, pert, gene, "up"], ["a_b", "a", "b", "none"]]
        )
    )
    assert commands.core(place, "import", str(file)).status == 0
    file.write_bytes(
        cases.submission(
            [(key, 0.3, 0.1, cases.debate_trace(UP="+1 for =1")), ("a_b", 0.2, 0.1, "")]
        )
    )
    assert commands.core(place, "import", str(file), "--name", "first").status == 0
    for traces in ([], ["--traces"]):
        done = commands.core(place, "export", "first", *traces, "--out", str(again), "--replace")
        assert done.status == 0, done.err
        cells = [cell for row in cells_of(again.read_bytes()) for cell in row]
        assert [c for c in cells if c.startswith(RUNS) and not is_number(c)] == []
        assert key in map(without_apostrophe, cells)
    commands.core(place, "export", "first", "--out", str(again), "--replace")
    done = commands.core(place, "import", str(again), "--name", "second")
    assert done.status == 0, done.err
    assert "second has the same predictions as first" in done.err
