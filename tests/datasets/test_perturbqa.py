"""PerturbQA's tables: the name tells the task, the cells everything else."""

from __future__ import annotations

import pytest

from core.datasets import PairTable, read
from core.errors import InputError
from core.types import Label, Pair

CONTENT = b"pert,gene,label,split\nAARS,A2M,1,train\nAARS,12-cell cycle,0,test\n"


def pairs(content: bytes, name: str) -> PairTable:
    table = read(content, name)
    assert isinstance(table, PairTable)
    return table


@pytest.mark.parametrize(
    ("name", "task", "one", "zero"),
    [
        ("k562-de.csv", "de", Label.DE, Label.NONE),
        ("K562_set-DIR.csv", "dir", Label.UP, Label.DOWN),
        ("folder.x/rpe1-dir", "dir", Label.UP, Label.DOWN),
    ],
)
def test_what_one_and_zero_mean_depends_on_the_task(name: str, task: str, one: Label, zero: Label) -> None:
    table = pairs(CONTENT, name)
    assert (table.kind, table.dataset_kind, table.rejected, table.lines) == ("perturbqa", task, (), (2, 3))
    assert table.pairs == (
        Pair("AARS_A2M", "AARS", "A2M", one, "train"),
        Pair("AARS_12-cell cycle", "AARS", "12-cell cycle", zero, "test"),
    )


@pytest.mark.parametrize("name", ["k562.csv", "de.csv", "k562-de-old.csv", "mode.csv"])
def test_another_name_asks_for_one_that_tells(name: str) -> None:
    with pytest.raises(InputError, match=f"{name}: .* Name it <line>-de.csv or <line>-dir.csv"):
        pairs(CONTENT, name)


def test_every_wrong_row_is_named() -> None:
    table = pairs(b"pert,gene,label,split\nA,B,1,train\nA,B,0,test\nA,C,2,train\nA,D,1.0,train\nA,E,1,\n", "x-de.csv")
    assert [(bad.line, bad.reason, bad.detail) for bad in table.rejected] == [
        (3, "duplicate", "'A_B' stands on line 2 already"),
        (4, "bad label", "'2', expected 0 or 1"),
        (5, "bad label", "'1.0', expected 0 or 1"),
        (6, "empty cell", "nothing in column split"),
    ]
    assert [pair.pair_id for pair in table.pairs] == ["A_B"]


def test_a_missing_column_is_one_rejection() -> None:
    table = pairs(b"pert,gene,split\nA,B,train\n", "x-de.csv")
    assert [(bad.line, bad.reason) for bad in table.rejected] == [(1, "missing column")]
