"""A CSV of numbers for rows."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from core.base.errors import InputError
from core.features.importing.external_scores import ScoreTable, choose_columns
from core.features.importing.files import recognise
from core.features.importing.pairs import PairTable
from core.features.importing.reader import read
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
    assert isinstance(
        read(
            cases.as_csv(["id", "pert", "gene", "label", "s"], [["A_G", "A", "G", "up", 1]]),
            "x.csv",
        ),
        PairTable,
    )


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__"])
def test_a_column_of_row_numbers_is_no_score(name: str) -> None:
    found = table(
        cases.as_csv([name, "pert", "gene", "s"], [[0, "A", "G", 0.5], [1, "A", "H", 0.25]])
    )
    assert list(found.columns) == ["s"]


@pytest.mark.parametrize("name", ["index", "level_0", "X", "...1", "row"])
def test_a_named_column_that_counts_rows_is_no_score(name: str) -> None:
    rows = [
        ("A", "G", 0.5),
        ("A", "H", 0.25),
        ("A", "", 0.5),
        ("B", "G", 0.75),
    ]  # the third is rejected
    for first in (0, 1):
        found = table(
            cases.as_csv(
                [name, "pert", "gene", "s"], [[first + i, *row] for i, row in enumerate(rows)]
            )
        )
        assert (list(found.columns), found.left_out) == (["s"], (name,))
    found = table(
        cases.as_csv([name, "pert", "gene"], [[0.5 - i, *row[:2]] for i, row in enumerate(rows)])
    )
    assert list(found.columns) == [name]


def test_row_numbers_alone_are_no_scores() -> None:
    found = table(cases.as_csv(["index", "pert", "gene"], [[0, "A", "G"], [1, "A", "H"]]))
    with pytest.raises(InputError, match=r"0 columns of numbers, .* are 'index'"):
        choose_columns(found, None, None)


@pytest.mark.parametrize("write", ["csv", "tsv", "csv.gz", "parquet", "xlsx"])
def test_an_index_that_pandas_writes_along_is_no_score(tmp_path: Path, write: str) -> None:
    path = tmp_path / f"s.{write}"
    frame = pd.DataFrame(
        {"pert": ["A", "A", "B"], "gene": ["G", "H", "G"], "s": [0.5, 0.25, 0.125]}, index=[5, 6, 9]
    )
    if write == "parquet":
        frame.to_parquet(path)
    elif write == "xlsx":
        frame.to_excel(path)
    else:
        frame.to_csv(path, sep="\t" if write == "tsv" else ",")
    found = recognise(path)
    assert isinstance(found, ScoreTable)
    assert found.columns == {"s": (0.5, 0.25, 0.125)}


@pytest.mark.parametrize("name", ["p_value", "padj", "FDR", "q"])
def test_columns_of_p_values_are_marked(name: str) -> None:
    found = table(
        cases.as_csv(["id", name, "neg_log10_p"], [["A_G", 0.5, 1.0], ["A_H", 0.25, 2.0]])
    )
    assert {*found.turned} == {name}
