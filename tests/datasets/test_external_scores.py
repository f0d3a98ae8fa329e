"""A CSV of numbers for rows."""

from __future__ import annotations

import pytest

from core.datasets import PairTable, ScoreTable, read
from tests import cases

ROWS = cases.as_csv(
    ["id", "label", "reachable", "effect", "word"],
    [
        ["A_G", "up", "True", "3.5", "x"],
        ["A_H", "none", "False", "-1", "y"],
        ["B_G", "down", "True", "", "z"],
        ["A_H", "none", "True", "7", "z"],  # a duplicate
        ["B_H", "down", "no idea", "1e2", "z"],
    ],
)


def table(content: bytes = ROWS) -> ScoreTable:
    found = read(content, "scores.csv")
    assert isinstance(found, ScoreTable)
    return found


def test_columns_of_numbers_are_found_and_bad_cells_named_with_their_line() -> None:
    found = table()
    assert found.ids == ("A_G", "A_H", "B_G", "B_H")
    assert found.columns == {"reachable": (1.0, 0.0, 1.0, None), "effect": (3.5, -1.0, None, 100.0)}
    assert found.left_out == ("label", "word")
    assert [(bad.line, bad.reason) for bad in found.rejected] == [(5, "duplicate")]
    [bad] = found.faults["reachable"]
    assert (bad.file, bad.line, bad.reason) == ("scores.csv", 6, "not a number")
    assert "'no idea' in column reachable" in bad.detail
    assert found.faults["effect"] == ()


def test_rows_may_be_named_by_both_symbols() -> None:
    found = table(cases.as_csv(["gene", "pert", "s"], [["G", "A", 1], ["", "A", 2]]))
    assert found.ids == ("A_G",)
    assert [bad.reason for bad in found.rejected] == ["empty cell"]
    found = table(cases.as_csv(["id", "gene", "pert", "s"], [["A_H", "G", "A", 1]]))
    assert [bad.reason for bad in found.rejected] == ["id mismatch"]


def test_labelled_pairs_stay_pairs() -> None:
    assert isinstance(read(cases.as_csv(["id", "pert", "gene", "label", "s"], [["A_G", "A", "G", "up", 1]]), "x.csv"), PairTable)


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__"])
def test_a_column_of_row_numbers_is_no_score(name: str) -> None:
    found = table(cases.as_csv([name, "pert", "gene", "s"], [[0, "A", "G", 0.5], [1, "A", "H", 0.25]]))
    assert list(found.columns) == ["s"]


@pytest.mark.parametrize("name", ["p_value", "padj", "FDR", "q"])
def test_columns_of_p_values_are_marked(name: str) -> None:
    found = table(cases.as_csv(["id", name, "neg_log10_p"], [["A_G", 0.5, 1.0], ["A_H", 0.25, 2.0]]))
    assert found.p_values == {name}
