from __future__ import annotations

from pathlib import Path

import pytest

from core.base.errors import InputError, NotFound
from core.base.types import Pair
from core.runs.request import (
    Price,
    Rate,
    RowSelection,
    expect,
    expected_calls,
    parse_row_selection,
    select_rows,
)
from tests.runs.methods import Asking, Counting

PAIRS = [Pair(f"P_G{i}", "P", f"G{i}", None, "train" if i < 6 else "test") for i in range(10)]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", RowSelection()),
        (" ; ", RowSelection()),
        ("split=test", RowSelection("test")),
        ("split=test; sample=500,seed=3", RowSelection("test", 500, 3)),
        ("sample=5", RowSelection(None, 5)),
        ("ids=a,b_c.txt", RowSelection(ids=Path("a,b_c.txt"))),
        ("ids=x.txt;split=train;seed=1,sample=2", RowSelection("train", 2, 1, Path("x.txt"))),
    ],
)
def test_rows_are_read(text: str, rows: RowSelection) -> None:
    assert parse_row_selection(text) == rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("test", "got 'test' in 'test', expected split=NAME"),
        ("split=", "got 'split='"),
        ("colour=red", "got 'colour=red'"),
        ("split=a;split=b", "split comes twice"),
        ("sample=-1", "sample: got '-1', expected a whole number"),
        ("sample=²", "expected a whole number"),
        ("sample=0", "1 or more"),
        ("seed=1", "a seed without a sample"),
    ],
)
def test_rows_that_cannot_be(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_row_selection(text)


def test_rows_are_chosen_in_the_datasets_order(tmp_path: Path) -> None:
    ids = tmp_path / "ids.csv"
    ids.write_text('id,why\n"P_G8",x\n\nP_G2\nP_G8\n')
    assert select_rows(PAIRS, RowSelection()) == tuple(pair.pair_id for pair in PAIRS)
    assert select_rows(PAIRS, RowSelection("test")) == ("P_G6", "P_G7", "P_G8", "P_G9")
    assert select_rows(PAIRS, RowSelection(ids=ids)) == ("P_G2", "P_G8")
    drawn = select_rows(PAIRS, RowSelection("train", 3, 1))
    assert drawn == select_rows(PAIRS, RowSelection("train", 3, 1)) == tuple(sorted(drawn))
    assert len(set(drawn)) == 3
    assert {select_rows(PAIRS, RowSelection("train", 3, seed)) for seed in range(9)} > {drawn}


def test_choices_that_leave_nothing_are_refused(tmp_path: Path) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text("P_G1\nnowhere\n")
    with pytest.raises(NotFound, match=r"1 of 2 ids .* 'nowhere'"):
        select_rows(PAIRS, RowSelection(ids=ids))
    with pytest.raises(NotFound, match="'P_G1'"):
        select_rows(PAIRS, RowSelection("test", ids=ids))
    with pytest.raises(InputError, match="none of split 'x', this dataset has test, train"):
        select_rows(PAIRS, RowSelection("x"))
    with pytest.raises(InputError, match="sample of 11, expected at most the 10"):
        select_rows(PAIRS, RowSelection(sample=11))
    with pytest.raises(InputError, match="cannot be read"):
        select_rows(PAIRS, RowSelection(ids=tmp_path / "none.txt"))
    ids.write_text("id\n")
    with pytest.raises(InputError, match="holds no id"):
        select_rows(PAIRS, RowSelection(ids=ids))


def test_what_a_run_will_take() -> None:
    assert (expected_calls(Asking(), {}, 300), expected_calls(Counting(), {}, 300)) == (600, 0)
    assert expect(600, 16).money is expect(600, 16).seconds is None
    # 600 calls, 16 at a time: 37.5, so 38 rounds of 2 s; 600 × 1,000 prompt tokens at 3 and 600 × 100 at 15 a million
    found = expect(600, 16, Rate(1000, 100, 2), Price(3, 15))
    assert (found.prompt_tokens, found.completion_tokens, found.seconds) == (600_000, 60_000, 76)
    assert found.money == pytest.approx(1.8 + 0.9)
    assert expect(600, 16, Rate(1000, 100, 2)).money is None
