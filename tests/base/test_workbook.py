"""Workbooks of Excel: labels, scores, predictions and gene spaces in one read as from the CSV of the same cells."""

from __future__ import annotations

import datetime
import io
import zipfile
from pathlib import Path

import pytest

from core.base import workbook
from core.base.errors import InputError, UnknownFormat, UnsafeFile
from core.base.workbook import text_of_workbook
from core.features.importing.external_scores import ScoreTable
from core.features.importing.files import recognise
from core.features.importing.pairs import PairTable
from core.features.importing.spaces.load import load_space

openpyxl = pytest.importorskip("openpyxl")
LABELS = [
    ["pert", "gene", "label", "split"],
    ["STAT1", "IRF1", 1, "train"],
    ["STAT1", "IRF2", 0, "test"],
]


def write(path: Path, *sheets: list[list[object]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet{number}")
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def text(path: Path) -> str:
    with path.open("rb") as file:
        return text_of_workbook(file, path.name).decode()


def test_labels_read_as_from_csv(tmp_path: Path) -> None:
    (tmp_path / "k562-de.csv").write_text("\n".join(",".join(map(str, row)) for row in LABELS))
    found, expected = (
        recognise(write(tmp_path / "k562-de.xlsx", LABELS)),
        recognise(tmp_path / "k562-de.csv"),
    )
    assert isinstance(found, PairTable)
    assert isinstance(expected, PairTable)
    assert (found.pairs, found.lines) == (expected.pairs, expected.lines)


def test_a_title_above_the_header_keeps_the_numbers_of_the_rows(tmp_path: Path) -> None:
    path = write(
        tmp_path / "k562-de.xlsx",
        [["Table S3. Labels."], [], *LABELS, ["STAT1", datetime.datetime(2026, 3, 1), 1, "train"]],
    )
    found = recognise(path)
    assert isinstance(found, PairTable)
    assert found.lines == (4, 5)
    assert [(bad.line, bad.reason) for bad in found.rejected] == [
        (6, "no gene symbol")
    ]  # MARCH1, which Excel made a day of


def test_scores_and_spaces_are_read(tmp_path: Path) -> None:
    scores = recognise(
        write(
            tmp_path / "s.xlsx",
            [["pert", "gene", "score"], ["STAT1", "IRF1", 0.25], ["STAT1", "IRF2", 2]],
        )
    )
    assert isinstance(scores, ScoreTable)
    assert scores.columns == {"score": (0.25, 2.0)}
    space = load_space(
        write(tmp_path / "space.xlsx", [["symbol", "a", "b"], ["STAT1", 0.5, 1], ["IRF1", 0, 2.5]]),
        "s",
    )
    assert (space.symbols, space.vectors.tolist(), space.source) == (
        ("STAT1", "IRF1"),
        [[0.5, 1], [0, 2.5]],
        "space.xlsx",
    )


def test_the_sheet_with_a_table_is_taken_and_of_two_none(tmp_path: Path) -> None:
    assert text(write(tmp_path / "a.xlsx", [["read me"]], LABELS)).startswith(
        "pert,gene,label,split\n"
    )
    with pytest.raises(
        InputError, match=r"2 sheets with tables \(sheet0, sheet1\), expected one. Save the one"
    ):
        text(write(tmp_path / "b.xlsx", LABELS, LABELS))
    with pytest.raises(UnknownFormat, match="a workbook without a table"):
        text(write(tmp_path / "c.xlsx", [["read me"]]))


def test_a_long_text_in_many_cells_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbook, "MAX_UNPACKED_BYTES", 100_000)
    with pytest.raises(UnsafeFile, match="bytes that unpack to"):
        text(write(tmp_path / "a.xlsx", [["x" * 32_767] * 10] * 2))


def test_a_stray_cell_at_the_end_of_a_sheet_costs_no_more_than_the_rows_above(
    tmp_path: Path,
) -> None:
    """It takes minutes where each of a million missing rows is filled up to its column."""
    path = write(tmp_path / "a.xlsx", LABELS)
    book = openpyxl.load_workbook(path)
    book.active["XFD1048576"] = "x"
    book.save(path)
    lines = text(path).splitlines()
    assert lines[:3] == text(write(tmp_path / "b.xlsx", LABELS)).splitlines()
    assert (len(lines), lines[3], lines[-1].strip(",")) == (1_048_576, "", "x")


def test_rows_are_as_long_as_what_stands_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells far to the right, and such without a value, write no cells between."""
    path = write(tmp_path / "a.xlsx", LABELS)
    book = openpyxl.load_workbook(path)
    for row in range(2, 200):
        book.active[f"XFC{row}"].number_format = "0.00"
        book.active[f"XFD{row}"] = "x"
    book.save(path)
    lines = text(path).splitlines()
    assert lines[:2] == ["pert,gene,label,split", "STAT1,IRF1,1,train,x"]
    assert lines[-1] == ",,,,x"
    monkeypatch.setattr(workbook, "MAX_UNPACKED_BYTES", 100_000)
    wide = [f"d{column}" for column in range(5_000)]
    with pytest.raises(UnsafeFile, match="bytes that unpack to"):  # empty cells count, too
        text(write(tmp_path / "b.xlsx", [wide, *[["x"]] * 20]))


def test_more_rows_than_excel_has_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbook, "MOST_ROWS", 5)
    with pytest.raises(UnsafeFile, match="more than 5 rows"):
        text(write(tmp_path / "a.xlsx", [*LABELS, *([LABELS[1]] * 5)]))


@pytest.mark.parametrize(
    "damage",
    [
        "<worksheet><sheetData><row r='x'",
        "",
        "<!DOCTYPE a [<!ENTITY b 'c'>]><worksheet>&b;</worksheet>",
    ],
)
def test_a_damaged_workbook_is_named(tmp_path: Path, damage: str) -> None:
    path, out = write(tmp_path / "a.xlsx", LABELS), io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(out, "w") as changed:
        for member in archive.namelist():
            changed.writestr(
                member, damage if member.startswith("xl/worksheets/") else archive.read(member)
            )
    path.write_bytes(out.getvalue())
    with pytest.raises(InputError, match=r"a\.xlsx: a (damaged workbook|workbook without a table)"):
        text(path)
