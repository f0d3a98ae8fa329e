"""train.csv and test.csv: every row is checked, the first of an id wins; PerturbQA's tables: the name tells the task."""

from __future__ import annotations

import pytest

from core.base.errors import InputError, UnknownFormat
from core.base.types import Label, Pair
from core.features.importing.external_scores import ScoreTable
from core.features.importing.pairs import PairTable
from core.features.importing.reader import read


def pairs(content: bytes, name: str = "any name.txt") -> PairTable:
    table = read(content, name)
    assert isinstance(table, PairTable)
    return table


def test_a_training_file() -> None:
    table = pairs(b"id,pert,gene,label\nA_B,A,B,up\nA_C,A,C,down\nNA_None,NA,None,none\n")
    assert (table.kind, table.cell_line, table.rejected) == ("challenge_train", None, ())
    assert table.pairs == (
        Pair("A_B", "A", "B", Label.UP, "train"),
        Pair("A_C", "A", "C", Label.DOWN, "train"),
        Pair("NA_None", "NA", "None", Label.NONE, "train"),
    )
    assert table.lines == (2, 3, 4)


def test_a_test_file_has_no_labels() -> None:
    table = pairs(b"id,pert,gene\r\nA_B,A,B\r\n")
    assert (table.kind, table.pairs) == ("challenge_test", (Pair("A_B", "A", "B", None, "test"),))


def test_columns_are_found_by_name() -> None:
    table = pairs(b"note,label,gene,pert,id\nhello,up,B,A,A_B\n")
    assert table.pairs == (Pair("A_B", "A", "B", Label.UP, "train"),)


def test_every_wrong_row_is_named() -> None:
    table = pairs(
        b"id,pert,gene,label\n"
        b"A_B,A,B,up\n"
        b"A_C,A,X,up\n"  # 3
        b"A_D,A,D,UPP\n"  # 4
        b"A_B,A,B,down\n"  # 5
        b"A_E,A,E,\n"  # 6
        b"A_F,A,F\n"  # 7
        b"A_G,A,G\xff,up\n"  # 8
        b"A_H,A,H,none\n"
    )
    assert [(bad.file, bad.line, bad.reason, bad.detail) for bad in table.rejected] == [
        ("any name.txt", 3, "id mismatch", "id 'A_C', expected 'A_X'"),
        ("any name.txt", 4, "bad label", "'UPP', expected up, down, none"),
        ("any name.txt", 5, "duplicate", "'A_B' stands on line 2 already"),
        ("any name.txt", 6, "empty cell", "nothing in column label"),
        ("any name.txt", 7, "wrong number of columns", "3 columns, expected 4"),
        ("any name.txt", 8, "wrong encoding", "byte 0xFF is not UTF-8"),
    ]
    assert ([pair.pair_id for pair in table.pairs], table.lines) == (["A_B", "A_H"], (2, 9))


@pytest.mark.parametrize(
    ("header", "kind", "missing"),
    [
        ("id,gene,label", "challenge_train", "pert"),
        ("id,pert", "challenge_test", "gene"),
    ],
)
def test_a_missing_column_is_one_rejection_and_no_rows(
    header: str, kind: str, missing: str
) -> None:
    table = pairs(f"{header}\n{','.join('ABC'[: header.count(',') + 1])}\n".encode())
    assert (table.kind, table.pairs, table.lines) == (kind, (), ())
    assert [(bad.line, bad.reason, bad.detail) for bad in table.rejected] == [
        (1, "missing column", f"no column {missing}; found '{header.replace(',', ', ')}'")
    ]


@pytest.mark.parametrize(
    "header",
    [
        "id,pert,gene,label,split",  # its test rows must not become training rows
        "gene,description",
    ],
)
def test_other_tables_are_not_taken_for_one(header: str) -> None:
    with pytest.raises(UnknownFormat, match=r"any name.txt: columns '.*', expected those of pairs"):
        pairs(f"{header}\n".encode())


PERTURBQA = b"pert,gene,label,split\nAARS,A2M,1,train\nAARS,12-cell cycle,0,test\n"


@pytest.mark.parametrize(
    ("name", "line", "one", "zero"),
    [
        ("k562-de.csv", "k562", Label.DE, Label.NONE),
        ("K562_set-DIR.csv", "k562_set", Label.UP, Label.DOWN),
        ("folder.x/rpe1-dir", "rpe1", Label.UP, Label.DOWN),
        ("a-de-dir.csv", "a-de", Label.UP, Label.DOWN),
    ],
)
def test_what_one_and_zero_mean_depends_on_the_task(
    name: str, line: str, one: Label, zero: Label
) -> None:
    table = pairs(PERTURBQA, name)
    assert (table.kind, table.cell_line, table.rejected, table.lines) == (
        "perturbqa",
        line,
        (),
        (2, 3),
    )
    assert table.pairs == (
        Pair("AARS_A2M", "AARS", "A2M", one, "train"),
        Pair("AARS_12-cell cycle", "AARS", "12-cell cycle", zero, "test"),
    )


@pytest.mark.parametrize("name", ["k562.csv", "de.csv", "-de.csv", "k562-de-old.csv", "mode.csv"])
def test_another_name_asks_for_one_that_tells(name: str) -> None:
    with pytest.raises(InputError, match=f"{name}: .* Name it <line>-de.csv or <line>-dir.csv"):
        pairs(PERTURBQA, name)


def test_every_wrong_row_of_perturbqa_is_named() -> None:
    table = pairs(
        b"pert,gene,label,split\nA,B,1,train\nA,B,0,test\nA,C,2,train\nA,D,1.5,train\nA,E,1,\n",
        "x-de.csv",
    )
    assert [(bad.line, bad.reason, bad.detail) for bad in table.rejected] == [
        (3, "duplicate", "'A_B' stands on line 2 already"),
        (4, "bad label", "'2', expected 0 or 1"),
        (5, "bad label", "'1.5', expected 0 or 1"),
        (6, "empty cell", "nothing in column split"),
    ]
    assert [pair.pair_id for pair in table.pairs] == ["A_B"]


def test_a_missing_column_is_one_rejection() -> None:
    table = pairs(b"pert,gene,split\nA,B,train\n", "x-de.csv")
    assert [(bad.line, bad.reason) for bad in table.rejected] == [(1, "missing column")]


def test_blanks_and_conditions_are_read_as_everywhere() -> None:
    table = pairs(
        "pert,gene,label,split\n Stat1,Irf1 ,1, TRAIN\nIrf1+ctrl,\u00a0Myd88,0,Val\nctrl,Irf1,0,test\nA+B,Irf1,0,test\n".encode(),
        "x-de.csv",
    )
    assert [(pair.pair_id, pair.split) for pair in table.pairs] == [
        ("Stat1_Irf1", "train"),
        ("Irf1_Myd88", "val"),
    ]
    assert [(bad.line, bad.reason) for bad in table.rejected] == [
        (4, "no single gene"),
        (5, "no single gene"),
    ]
    table = pairs(b"id,pert,gene,label\nStat1_Irf1, Stat1,Irf1 ,up\n Stat1_Tlr4, Stat1,Tlr4,down\n")
    assert [pair.pair_id for pair in table.pairs] == ["Stat1_Irf1", "Stat1_Tlr4"]


@pytest.mark.parametrize("symbol", ["1-Mar", "2.31E+13", "43891", "TRUE", "nan"])
def test_symbols_that_a_spreadsheet_made_are_named_with_their_row(symbol: str) -> None:
    table = pairs(
        f"pert,gene,label,split\nA,B,1,train\n{symbol},B,1,train\nA,{symbol},1,train\n".encode(),
        "x-de.csv",
    )
    assert len(table.pairs) == 1
    assert [(bad.line, bad.reason) for bad in table.rejected] == [
        (3, "no gene symbol"),
        (4, "no gene symbol"),
    ]
    assert [repr(symbol) in bad.detail for bad in table.rejected] == [True, True]


def test_other_splits_are_said() -> None:
    table = pairs(
        b"pert,gene,label,split\nA,B,1,fold1\nA,C,1,fold1\nA,D,0,validation\n", "x-de.csv"
    )
    assert [pair.split for pair in table.pairs] == ["fold1", "fold1", "validation"]
    assert table.notes == (
        "splits that are none of train, val and test, from which nothing is learnt: 'fold1' (2 rows)",
    )


@pytest.mark.parametrize(
    "header", ["ID,PERT,GENE,LABEL", "Id,Pert,Gene,Label", "id,pert,gene,Label"]
)
def test_names_of_columns_may_be_in_capitals(header: str) -> None:
    table = pairs(f"{header}\nA_B,A,B,up\n".encode())
    assert (table.kind, table.pairs, table.rejected) == (
        "challenge_train",
        (Pair("A_B", "A", "B", Label.UP, "train"),),
        (),
    )


@pytest.mark.parametrize(
    "header", ["PERT,GENE,LABEL,SPLIT", "Pert,Gene,Label,Split", "pert,gene,label,Split"]
)
def test_names_of_perturbqa_columns_may_be_in_capitals(header: str) -> None:
    assert pairs(f"{header}\nA,B,1,val\n".encode(), "k562-de.csv").pairs == (
        Pair("A_B", "A", "B", Label.DE, "val"),
    )


def test_names_that_only_case_tells_apart_stay_as_they_are() -> None:
    with pytest.raises(InputError, match=r"PERT, Pert may each be pert; .*--column pert="):
        read(b"PERT,Pert,GENE,x\nA,A,B,1\n", "s.csv")


def test_capitals_change_nothing_of_a_file_that_is_read_as_it_stands() -> None:
    scores = read(b"pert,gene,ID,score\nA,B,7,0.5\n", "s.csv")
    assert isinstance(scores, ScoreTable)
    assert (scores.ids, set(scores.columns)) == (("A_B",), {"ID", "score"})
    capitals = read(b"PERT,GENE,score\nA,B,0.5\n", "s.csv")
    assert isinstance(capitals, ScoreTable)
    assert capitals.ids == ("A_B",)


@pytest.mark.parametrize(
    ("code", "words"),
    [("-1.0", "'-1.0', expected 0 or 1, stands in 10 rows beside 20 others"), ("2", "'2'")],
)
def test_a_third_class_is_no_slip(code: str, words: str) -> None:
    rows = [f"P{i},G{i},{('1.0', '0', code)[i % 3]},train" for i in range(30)]
    with pytest.raises(InputError, match=f"{words}.*: a class of its own. .* up, down and none"):
        pairs("\n".join(["pert,gene,label,split", *rows]).encode(), "k562-dir.csv")
    few = [*rows[::3], *rows[1::3], *rows[2:7:3]]
    assert (
        len(pairs("\n".join(["pert,gene,label,split", *few]).encode(), "k562-dir.csv").pairs) == 20
    )
