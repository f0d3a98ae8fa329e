"""CSV rows with their physical lines, and what becomes of rows that cannot be read."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base import tables
from core.base.errors import InputError, UnknownFormat
from core.base.tables import NumberStyle, Table, delimiter_of, number_style, table_of, text_table
from core.base.texts import quote


def table(content: bytes) -> Table:
    return text_table(io.BytesIO(content), "f.csv")


def rows(content: bytes) -> list[tuple[int, list[str]]]:
    return list(table(content).records())


def rejected(content: bytes) -> list[tuple[int, str, str]]:
    read = table(content)
    list(read.records())
    return [(bad.line, bad.reason, bad.detail) for bad in read.rejected]


def test_lines_are_where_records_start() -> None:
    # line 1 header, 2-4 one record with quoted newlines, 5 empty, 6 the next record
    content = b'id,text\na,"one\ntwo\nthree"\n\nb,""""\n'
    assert rows(content) == [(2, ["a", "one\ntwo\nthree"]), (6, ["b", '"'])]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_and_a_byte_order_mark_do_not_matter(end: bytes, bom: bytes, last: bool) -> None:
    content = (
        bom + end.join([b'"id", gene ', b'a,"x' + end + b'y"', b"b,z"]) + (end if last else b"")
    )
    read = table(content)
    assert read.header == ("id", "gene")
    assert list(read.records()) == [(2, ["a", f"x{end.decode()}y"]), (4, ["b", "z"])]


def test_symbols_and_labels_that_look_like_nothing_are_text() -> None:
    content = b"a,b,c,d\nnone,NA,nan,null\n"
    assert rows(content) == [(2, ["none", "NA", "nan", "null"])]


def test_a_cell_may_be_longer_than_the_csv_module_allows_by_itself() -> None:
    csv.field_size_limit(131_072)
    assert len(rows(b"a\n" + b"x" * 200_000)[0][1][0]) == 200_000


def test_a_row_that_is_not_utf8_is_rejected_alone() -> None:
    assert rejected(b"id,gene\na,ok\nb,caf\xe9\nc,caf\xc3\xa9\n") == [
        (3, "wrong encoding", "byte 0xE9 is not UTF-8")
    ]
    assert rows(b"id,gene\na,ok\nb,caf\xe9\nc,caf\xc3\xa9\n") == [
        (2, ["a", "ok"]),
        (4, ["c", "café"]),
    ]
    # three bytes that spell a lone surrogate are no UTF-8 either
    assert rejected(b"id\n\xed\xa0\x80\n")[0][1] == "wrong encoding"


def test_rows_of_another_width_are_rejected_alone() -> None:
    assert rejected(b"a,b\n1,2\n1\n1,2,3\n3,4\n") == [
        (3, "wrong number of columns", "1 columns, expected 2"),
        (4, "wrong number of columns", "3 columns, expected 2"),
    ]


def test_a_quote_that_never_closes_is_found_even_where_the_width_fits() -> None:
    content = b'a,b\n1,2\n3,"4\n5,6\n7,8\n'
    assert rows(content) == [(2, ["1", "2"])]
    ((line, reason, detail),) = rejected(content)
    assert (line, reason) == (3, "wrong number of columns")
    assert "never closed and takes all up to line 5" in detail


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32"])
def test_wide_encodings_without_a_mark_are_one_error(encoding: str) -> None:
    with pytest.raises(InputError, match=r"f\.csv: .*UTF-8"):
        table("id,gene\na,b\n".encode(encoding))


def test_utf16_with_its_mark_is_read() -> None:
    assert rows("id\tgene\na\té\n".encode("utf-16")) == [(2, ["a", "é"])]


def test_what_stands_above_a_header_is_left_out_and_said() -> None:
    read = table(b"# made by lab\n# in 2026\npert,gene\na,b\n")
    assert (read.header, list(read.records())) == (("pert", "gene"), [(4, ["a", "b"])])
    assert "remarks" in read.notes[0]
    assert table(b"sep=;\na;b\n1;2\n").header == ("a", "b")
    assert table(b"#pert\tgene\na\tb\n").header == ("pert", "gene")


def test_a_header_without_the_row_names_of_r() -> None:
    read = table(b"pert\tgene\n1\ta\tb\n2\tc\td\n")
    assert read.header == ("", "pert", "gene")
    assert list(read.records()) == [(2, ["1", "a", "b"]), (3, ["2", "c", "d"])]


@pytest.mark.parametrize(
    ("cells", "read"),
    [
        (["0,62", "1,234", "2"], [0.62, 1.234, 2]),  # one cell says what the others are
        (["1,234", "12,345"], [None, None]),  # thousands, or not: nobody knows
        (["0,62", "0.5"], [None, 0.5]),  # two styles: no cell is turned into a point
        (["1.234,5", "0,5", "1.234"], [None, 0.5, None]),  # nothing may stand between thousands
        (["1,234.5", "0.5", "1 234"], [None, 0.5, None]),
        (["1.234", "0.5"], [1.234, 0.5]),
        (["-1,5E-3", "0,123"], [-0.0015, 0.123]),
        (["1_000", "x", ""], [None, None, None]),
    ],
)
def test_a_column_has_one_way_to_write_numbers(cells: list[str], read: list[float | None]) -> None:
    style = number_style(cells)
    assert [style.read(cell) for cell in cells] == read


def test_other_columns_tell_what_a_column_alone_does_not() -> None:
    assert table(b"a;b\n1,234;0,5\n").number(0, "1,234") == 1.234
    assert table(b'a,b\n"1,234",0.5\n').number(0, "1,234") is None
    assert NumberStyle(",").read("1.5") is None


def test_of_as_many_commas_as_semicolons_the_commas_are_decimal() -> None:
    assert delimiter_of("STAT1;0,1;0,2") == ";"
    assert delimiter_of("pert,gene,score") == ","
    assert delimiter_of("symbol") == ","


def test_json_rows_keep_their_numbers() -> None:
    number = 0.1 + 0.2
    objects = [{"id": "a", "x": number, "n": None}, {"id": "b", "x": 1, "more": [1, 2]}]
    for data in (
        json.dumps(objects),
        "\n".join(map(json.dumps, objects)),
        json.dumps({"rows": objects}),
    ):
        read = table_of(data.encode(), "f.json")
        cells = [row for _, row in read.records()]
        assert [row[0] for row in cells] == ["a", "b"]
        assert read.number(1, cells[0][1]) == number
        assert cells[1][read.header.index("more")] == "[1, 2]"


def test_json_with_half_of_a_surrogate_pair_is_refused() -> None:
    """Nothing can store it: a row of it is rejected, and a column of it refuses the file."""
    read = table_of(json.dumps([{"id": "a", "x": "\ud800"}, {"id": "b"}]).encode(), "f.json")
    assert [*read.records()] == [(2, ["b", ""])]
    assert [(bad.line, bad.reason) for bad in read.rejected] == [(1, "wrong encoding")]
    with pytest.raises(InputError, match=r"f\.json: the name of a column: half of a surrogate"):
        table_of(json.dumps([{"id": "a", "\udfff": 1}]).encode(), "f.json")


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"\xef\xbb\xbf", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0JFIF"]
)
def test_no_header_is_an_unknown_format(content: bytes) -> None:
    with pytest.raises(UnknownFormat, match="header"):
        table(content)


def test_a_column_named_twice_is_an_error() -> None:
    with pytest.raises(InputError, match="column 'a' more than once"):
        table(b"a,b, a\n1,2,3\n")


def test_missing_columns_are_named_with_those_found() -> None:
    read = table(b"id,genes\n1,2\n")
    assert read.require("id") == (0,)
    assert read.require("id", "pert", "gene") is None
    assert [(r.line, r.reason, r.detail) for r in read.rejected] == [
        (1, "missing column", "no column pert, gene; found 'id, genes'")
    ]
    assert (read.column("genes"), read.column("gene")) == (1, None)


def test_blank_cells_are_empty() -> None:
    read = table(b"id,gene\n1, \t\n2,x\n")
    (first, second) = list(read.records())
    empty = read.empty_cell(*first, (0, 1))
    assert (empty.line, empty.reason, empty.detail) == (2, "empty cell", "nothing in column gene")
    assert read.empty_cell(*second, (0, 1)) is None


def test_shown_text_is_short_and_quoted() -> None:
    assert quote("a\nb") == r"'a\nb'"
    assert quote("x" * 100, 10) == "'xxxxxxxxx…'"


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@pytest.mark.soak
@given(
    st.lists(st.lists(cells, min_size=2, max_size=2), max_size=6), st.sampled_from(["\n", "\r\n"])
)
def test_whatever_is_written_is_read_back(written: list[list[str]], end: str) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL).writerows([["a", "b"], *written])
    assert [row for _, row in rows(text.getvalue().encode())] == written


@pytest.mark.soak
@given(st.binary(max_size=60) | st.text('ab,"\r\n\0é', max_size=60).map(str.encode))
def test_any_bytes_are_rows_rejections_or_an_error(content: bytes) -> None:
    try:
        read = table(content)
    except InputError:
        return
    kept = list(read.records())
    lines = [line for line, _ in kept] + [bad.line for bad in read.rejected]
    assert all(len(row) == len(read.header) for _, row in kept)
    assert len(set(lines)) == len(lines)  # a record is kept or rejected, once


PIECES = [
    "a,b",
    "a",
    "\n",
    "\r\n",
    "\r",
    ",",
    '"',
    '"x\ny",z',
    "ü,1",
    "c,d\n" * 3,
    "\x00,\x0b",
    " ",
]


@given(
    st.lists(st.sampled_from([*(p.encode() for p in PIECES), b"\xff,g", b"p,q,r\n"]), max_size=30),
    st.integers(1, 40),
    st.integers(1, 5),
)
def test_rows_read_in_blocks_are_those_read_one_by_one(
    pieces: list[bytes], block_bytes: int, rows_of_a_part: int
) -> None:
    """Blocks of a few characters end within rows, quotes and line ends."""
    content = b"one,two\n" + b"".join(pieces)
    singly = table(content)
    records = list(singly.records())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_CHUNK_BYTES", block_bytes)
        by_parts = table(content)
        parts = [*by_parts.parts(rows_of_a_part)]
    read = [
        (line, [*cells])
        for part in parts
        for line, cells in zip(part.index, part.itertuples(index=False, name=None), strict=True)
    ]
    assert read == records
    assert by_parts.rejected == singly.rejected


def test_rows_that_were_read_ahead_come_before_blocks() -> None:
    content = b"one,two\n" + b"".join(b"%d,x\n" % i for i in range(40_000))
    read = table(content)
    read.sample()
    [part] = read.parts()
    assert part["one"].tolist() == [str(i) for i in range(40_000)]
    assert part.index.tolist() == list(range(2, 40_002))
