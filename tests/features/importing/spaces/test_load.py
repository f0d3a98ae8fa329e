from __future__ import annotations

import io
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from pyarrow import parquet
from safetensors.numpy import save_file

from core.base.errors import InputError, UnknownFormat, UnsafeFile
from core.features.importing.spaces.load import load_space
from core.features.importing.symbols import spreadsheet_damage
from tests.cases import zip_of
from tests.embeddings.hostile import refusal_of, touches

SYMBOLS = ["Tp53", "NA", "None", "nan", "1110038B12Rik"]  # none of them a missing value
VECTORS = np.array([[1, 2.5], [-3, 0], [0.1, 4], [5, 6], [7, 8]], dtype=np.float32)


def frame() -> pd.DataFrame:
    return pd.DataFrame(VECTORS, columns=["d0", "d1"]).assign(symbol=SYMBOLS)


def write_safetensors(path: Path) -> None:
    save_file({"embedding": VECTORS}, path, metadata={"symbols": "\n".join(SYMBOLS)})


def write_npz(path: Path) -> None:
    np.savez_compressed(path, vectors=VECTORS, genes=np.array(SYMBOLS))


def write_npz_of_bytes(path: Path) -> None:
    np.savez(path, a=np.array(SYMBOLS, dtype="S"), b=VECTORS.astype(np.float64))


def write_parquet(path: Path) -> None:
    frame().to_parquet(path)


def write_parquet_with_index(path: Path) -> None:
    frame().set_index("symbol").rename_axis(None).to_parquet(path)


def write_csv(path: Path) -> None:
    frame()[["symbol", "d0", "d1"]].to_csv(
        path, index=False, encoding="utf-8-sig", lineterminator="\r\n"
    )


def write_csv_of_old_macs(path: Path) -> None:
    frame()[["symbol", "d0", "d1"]].to_csv(path, index=False, lineterminator="\r")


def write_csv_with_row_numbers(path: Path) -> None:
    frame().to_csv(path)


def write_csv_with_index(path: Path) -> None:
    frame().set_index("symbol").rename_axis(None).to_csv(path)


def write_tsv_of_numbered_columns(path: Path) -> None:
    frame().set_index("symbol").set_axis([0, 1], axis=1).to_csv(path, sep="\t")


def write_word2vec(path: Path) -> None:
    rows = [
        f"{symbol} {' '.join(map(str, row))} "
        for symbol, row in zip(SYMBOLS, VECTORS.tolist(), strict=True)
    ]
    path.write_text("\n".join(["5 2", *rows]) + "\n", "utf-8")


def write_headless_word2vec(path: Path) -> None:
    rows = [
        f"{symbol}\t{row[0]} {row[1]}"
        for symbol, row in zip(SYMBOLS, VECTORS.tolist(), strict=True)
    ]
    path.write_text("\n".join(rows), "utf-8")


WRITERS = [
    *(
        write_safetensors,
        write_npz,
        write_npz_of_bytes,
        write_parquet,
        write_parquet_with_index,
        write_csv,
    ),
    *(
        write_csv_of_old_macs,
        write_csv_with_row_numbers,
        write_csv_with_index,
        write_tsv_of_numbered_columns,
        write_word2vec,
    ),
    write_headless_word2vec,
]


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__.removeprefix("write_"))
def test_every_format_gives_the_same_space_whatever_the_file_is_called(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    path = tmp_path / "space.npz"  # np.savez would add the suffix; the others must not mind it
    write(path)
    space = load_space(path, "mine")
    assert (space.name, space.source, space.symbols) == ("mine", "space.npz", tuple(SYMBOLS))
    np.testing.assert_array_equal(space.vectors, VECTORS)
    write_safetensors(tmp_path / "reference")
    assert space.sha256 == load_space(tmp_path / "reference", "other").sha256


def test_row_numbers_are_no_dimension_and_that_is_noted(tmp_path: Path) -> None:
    write_csv_with_row_numbers(tmp_path / "x.csv")
    assert load_space(tmp_path / "x.csv", "x").notes == ("a column of row numbers ('') left out",)


SPACE_TEXTS = {
    "remarks": "# made by us\n# in 2024\ngene,d0,d1\n{}",
    "R": "d0\td1\n{}",
    "no header": "{}",
    "decimal commas": "gene;d0;d1\n{}",
    "Ensembl beside": "gene,ensembl_id,d0,d1\n{}",
    "Excel": "sep=;\ngene;d0;d1\n{}",
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("form", SPACE_TEXTS)
def test_texts_are_read_as_all_tables_are(tmp_path: Path, form: str, encoding: str) -> None:
    joint = {"R": "\t", "decimal commas": ";", "Excel": ";"}.get(form, ",")
    beside = ["ENSG00000000001"] if form == "Ensembl beside" else []
    rows = [
        joint.join(["Tp53", *beside, "0.5", "2.25"]),
        joint.join(["NA", *beside, "-3.125", "4"]),
    ]
    text = SPACE_TEXTS[form].format("\n".join(rows))
    path = tmp_path / "space.csv"
    path.write_text(text.replace(".", ",") if form == "decimal commas" else text, encoding)
    space = load_space(path, "x")
    assert space.symbols == ("Tp53", "NA")
    np.testing.assert_array_equal(space.vectors, [[0.5, 2.25], [-3.125, 4]])
    of_form = {
        "remarks": "remarks",
        "R": "R writes",
        "Ensembl beside": "ensembl_id",
        "Excel": "Excel",
    }.get(form)
    assert of_form is None or any(of_form in note for note in space.notes)


def test_a_text_beside_the_symbol_is_left_out_of_parquet(tmp_path: Path) -> None:
    frame().assign(ensembl="ENSG1").to_parquet(tmp_path / "x.parquet")
    space = load_space(tmp_path / "x.parquet", "x")
    assert (space.symbols, space.columns) == (tuple(SYMBOLS), 2)
    assert "ensembl" in space.notes[0]


def test_vectors_in_json(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"Tp53": [1, 2.5], "NA": [-3, 0]}')
    assert load_space(tmp_path / "x.json", "x").symbols == ("Tp53", "NA")


def test_numbers_that_may_be_thousands_are_refused_with_the_way(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("gene;d0\nTp53;1,234\n")
    with pytest.raises(InputError, match="decimal point"):
        load_space(tmp_path / "x.csv", "x")


def archive_of_objects(path: Path) -> None:
    np.savez(path, genes=np.array(SYMBOLS, dtype=object), vectors=VECTORS)


def test_an_archive_of_objects_is_unsafe(tmp_path: Path) -> None:
    archive_of_objects(tmp_path / "x.npz")
    with pytest.raises(UnsafeFile, match="objects"):
        load_space(tmp_path / "x.npz", "x")


def test_more_symbols_than_there_are_genes_are_refused(tmp_path: Path) -> None:
    """Neither takes room in the file: texts of no character, and vectors of no number."""
    np.savez(tmp_path / "x.npz", g=np.zeros(2_000_000, "<U0"), v=np.empty((2_000_000, 0)))
    many = pa.table({"symbol": pa.array(["A"] * 2_000_000), "x": np.zeros(2_000_000)})
    parquet.write_table(many, tmp_path / "x.parquet")
    for name in ("x.npz", "x.parquet"):
        with pytest.raises(UnsafeFile, match="2,000,000 rows, expected at most 1,000,000 genes"):
            load_space(tmp_path / name, "x")


def test_a_hostile_pickle_in_place_of_a_space(tmp_path: Path) -> None:
    for what, content in touches(tmp_path / "marker"):
        (tmp_path / "x.pkl").write_bytes(content)
        refused, words = refusal_of(what)
        with pytest.raises(refused, match=words):
            load_space(tmp_path / "x.pkl", "x")
    assert not (tmp_path / "marker").exists()


def npy(shape: str) -> bytes:
    """A header that promises an array, and no array."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def tensors(header: str) -> bytes:
    return struct.pack("<Q", len(header)) + header.encode()


def arrow(**columns: object) -> bytes:
    content = io.BytesIO()
    parquet.write_table(pa.table(columns), content)
    return content.getvalue()


def arrays_in(**members: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.savez(content, **members)
    return content.getvalue()


ONE_TENSOR = (
    '{"e":{"dtype":"BF16","shape":[1,1],"data_offsets":[0,2]},"__metadata__":{"symbols":"A"%s}}'
)

MALFORMED = {
    "parquet cut short": (arrow(symbol=["A"], x=[1.0])[:60], "parquet"),
    "parquet without symbols": (arrow(x=[1.0], y=[2.0]), "expected one called symbol"),
    "parquet with lists and numbers": (
        arrow(symbol=["A"], note=[[1.0]], x=[1.0]),
        "note beside 'symbol'",
    ),
    "parquet without numbers": (arrow(symbol=["A"]), "no column beside 'symbol'"),
    "parquet with a missing symbol": (arrow(symbol=["A", None], x=[1.0, 2.0]), "missing symbols"),
    "parquet with a missing number": (
        arrow(symbol=["A", "B"], x=[1.0, None]),
        "'B' .row 2. is not finite",
    ),
    "parquet with symbols of numbers": (arrow(symbol=[1], x=[1.0]), "not text"),
    "parquet not in UTF-8": (
        arrow(symbol=pa.array([b"\xff"]).view(pa.string()), x=[1.0]),
        "UTF-?8",
    ),
    "zip cut short": (zip_of({"a.npy": npy("(1,)")})[:-9], "npz"),
    "npz with a promise": (
        zip_of({"a.npy": npy("(99999999999999,)")}),
        "needs more memory",
    ),
    "npz with half a promise": (
        zip_of({"a.npy": npy("(5, 2)")}),
        "says to hold 40 bytes, and has|cannot be read as npz",
    ),
    "npz without symbols": (arrays_in(v=VECTORS), "expected one list of symbols and one matrix"),
    "npz of two matrices": (arrays_in(g=np.array(SYMBOLS), v=VECTORS, w=VECTORS), "one matrix"),
    "npz of another length": (arrays_in(g=np.array(SYMBOLS), v=VECTORS[:2]), "shape"),
    "npz with a number that no character has": (
        arrays_in(g=np.array([65, 66, 67, 1 << 31], ">u4").view(">U2"), v=VECTORS[:2]),
        "row 2 of the symbols has the character 0x80000000, expected at most 0x10ffff",
    ),
    "npz with half of a surrogate pair": (
        arrays_in(g=np.array(["A", "\ud800"]), v=VECTORS[:2]),
        r"row 2 has the symbol '\\ud800', expected one line of text",
    ),
    "JSON with half of a surrogate pair": (b'{"A": [1, 2], "\\udfff": [1, 2]}', "symbol '.udfff'"),
    "zip of something else": (zip_of({}), "no array"),
    "safetensors cut short": (
        tensors('{"e":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}'),
        "safetensors",
    ),
    "safetensors of no JSON": (tensors("{nonsense"), "safetensors"),
    "safetensors without symbols": (tensors("{}"), "metadata none"),
    "safetensors in bfloat16": (tensors(ONE_TENSOR % "") + b"\x80?", "expected|F16, F32 or F64"),
    "safetensors with odd notes": (tensors(ONE_TENSOR % ',"notes":"1"') + b"\x80?", "notes"),
    "safetensors with half a character in notes": (
        tensors(ONE_TENSOR.replace("BF16", "F16") % ',"notes":"[\\"\\\\ud800\\"]"') + b"\0<",
        "notes: half of a surrogate pair",
    ),
    "CSV with text": (b"symbol,x\nA,1\nB,high\n", "symbols and numbers"),
    "CSV with a gap": (b"symbol,x\nA,1\nB,\n", "symbols and numbers"),
    "CSV with a short row": (b"symbol,x,y\nA,1,2\nB,1\n", "Row #3: Expected 3 columns, got 2"),
    "CSV with a long row": (b"symbol,x\nA,1\nB,1,2\n", "Row #3: Expected 2 columns, got 3"),
    "CSV with NaN": (b"symbol,x\nA,1\nB,nan\n", "'B' .row 2. is not finite"),
    "CSV with a column twice": (b"symbol,x,x\nA,1,2\n", "column '?x'? more than once"),
    "CSV with two symbols": (b"x,gene,symbol\n1,A,B\n", "no column beside"),
    "CSV of a header": (b"symbol,x\n", "expected at least one"),
    "CSV with a name over two lines": (b'symbol,"x\ny"\nA,1\n', "line 1: "),
    "CSV not in UTF-8": (b"symbol,x\n\xff,1\n", "symbols and numbers|UTF-?8"),
    "word2vec with a short row": (b"2 2\nA 1 2\nB 1\n", "line 3: 1 numbers, expected 2"),
    "word2vec with text": (b"1 2\nA 1 x\n", "line 2: .*x.*expected numbers"),
    "word2vec with fewer rows": (b"3 2\nA 1 2\n", "1 vectors, expected 3"),
    "word2vec without rows": (b"1 2\n", "0 vectors, expected 1"),
    "word2vec not in UTF-8": (b"1 1\n\xff 1\n", "UTF-8"),
    "headless with a short row": (b"A 1 2\nB 1\n", "line 2: 1 numbers, expected 2"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_file_is_an_input_error_in_one_line(tmp_path: Path, case: str) -> None:
    content, message = MALFORMED[case]
    (tmp_path / "space.x").write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        load_space(tmp_path / "space.x", "x")
    assert str(caught.value).startswith("space.x")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "content", [b"", b"prose about genes", b'{"a": 1}', b"\x00\xff\xfe", b"\xef\xbb\xbf"]
)
def test_what_is_no_space_is_an_unknown_format(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UnknownFormat, match="safetensors, npz"):
        load_space(tmp_path / "file", "x")


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_space(tmp_path / "none.npz", "x")


SYMBOL = st.from_regex(r"[A-Za-z0-9.-]{1,8}", fullmatch=True).filter(
    lambda text: not spreadsheet_damage(text)
)


def test_a_header_that_python_cannot_parse_is_damage(tmp_path: Path) -> None:
    header = b"{'descr': (" + b" " * 52 + b"\n"
    member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    (tmp_path / "x.npz").write_bytes(zip_of({"a.npy": member}))
    with pytest.raises(InputError, match="cannot be read as npz"):
        load_space(tmp_path / "x.npz", "x")
