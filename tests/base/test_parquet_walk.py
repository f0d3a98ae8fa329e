"""Pages of Parquet say how much they unpack to; a file whose pages say too much is refused before Arrow believes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from core.base.errors import InputError, UnsafeFile
from core.base.parquet_walk import text_bytes, walk_parquet
from core.base.tables import table_of
from core.base.types import Pair
from core.features.cells.predicted_changes import WantedPairs
from core.features.cells.predicted_table import read_predicted_table
from core.features.importing.spaces.load import load_space

WANTED = WantedPairs.of((Pair("A_B", "A", "B", None, "test"),))


def write(path: Path, table: pa.Table, **how: Any) -> Path:
    parquet.write_table(table, path, **how)
    return path


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
def test_every_kind_of_page_is_walked(tmp_path: Path, codec: str, version: str) -> None:
    rng = np.random.default_rng(0)
    columns = {
        "s": [f"gene {i % 90}" for i in range(3_000)],
        "x": rng.random(3_000),
        "n": pa.array(range(3_000)),
    }
    path = write(
        tmp_path / "x.parquet",
        pa.table(columns | {"lists": [[1, None]] * 3_000, "flags": [True, None, False] * 1_000}),
        compression=codec,
        data_page_version=version,
        data_page_size=2_000,
        row_group_size=1_000,
        write_statistics=True,
        write_page_index=True,
        write_page_checksum=True,
    )
    assert walk_parquet(path, "x").num_rows == 3_000
    assert walk_parquet(path, "x", ["s"]).num_row_groups == 3


@pytest.mark.soak
@pytest.mark.parametrize("codec", ["gzip", "zstd", "brotli", "snappy"])
def test_a_page_that_unpacks_to_too_much_is_refused(tmp_path: Path, codec: str) -> None:
    """One row with a text of 70 MB: nothing but its page says how much it is."""
    long = pa.table({"symbol": ["x" * 70_000_000], "x": [1.0]})
    path = write(
        tmp_path / "x.parquet",
        long,
        compression=codec,
        use_dictionary=False,
        write_statistics=False,
    )
    if path.stat().st_size * 200 > 70_000_000:
        pytest.skip(f"{codec} does not pack it that well")
    with pytest.raises(UnsafeFile, match="bytes that unpack to 70,0"):
        load_space(path, "x")
    with pytest.raises(UnsafeFile, match="bytes that unpack to 70,0"):
        walk_parquet(path, "x", ["symbol"])
    walk_parquet(path, "x", ["x"])


def test_one_long_text_in_every_row_is_refused(tmp_path: Path) -> None:
    same = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(300_000, dtype=np.int32)), pa.array(["x" * 50_000])
    )
    numbers = pa.array(np.arange(300_000.0))
    path = write(
        tmp_path / "space.parquet", pa.table({"symbol": same, "x": numbers}), compression="none"
    )
    with pytest.raises(UnsafeFile, match="bytes that unpack to 15,000,000,000"):
        load_space(path, "x")
    table = pa.table({"pert": same, "gene": same, "log2_fc": numbers})
    path = write(tmp_path / "changes.parquet", table, compression="none")
    with pytest.raises(InputError, match=r"bytes that unpack to|a text of 50,000 bytes"):
        read_predicted_table(path, WANTED)


@pytest.mark.soak
def test_a_table_of_more_rows_than_it_can_hold_is_refused(tmp_path: Path) -> None:
    name = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(4_000_000, dtype=np.int8)), pa.array(["A"])
    )
    table = pa.table({"pert": name, "gene": name, "log2_fc": np.zeros(4_000_000)})
    with pytest.raises(UnsafeFile, match="bytes that unpack to 96,000,000"):
        read_predicted_table(write(tmp_path / "x.parquet", table), WANTED)


@pytest.mark.parametrize(
    ("column", "kind"),
    [([[1.0], [2.0]], "list<"), ([{"a": 1.0}, {"a": 2.0}], "struct<"), ([b"1", b"2"], "binary")],
)
def test_columns_that_are_no_numbers_are_named(
    tmp_path: Path, column: list[Any], kind: str
) -> None:
    table = pa.table({"pert": ["A", "C"], "gene": ["B", "D"], "log2_fc": column})
    with pytest.raises(InputError, match=f"column log2_fc of type {kind}"):
        read_predicted_table(write(tmp_path / "x.parquet", table), WANTED)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_texts_and_categories_are_read_as_before(tmp_path: Path, kind: pa.DataType) -> None:
    table = pa.table(
        {
            "pert": pa.array(["A", "C"], kind),
            "gene": pa.array(["B", "D"], kind).dictionary_encode(),
            "log2_fc": pa.array(["1.5", "x"], kind),
        }
    )
    found = read_predicted_table(write(tmp_path / "x.parquet", table), WANTED)
    assert (found.log2_fc is not None, found.other_pairs) == (True, 1)
    assert found.log2_fc is not None
    assert found.log2_fc.tolist() == [1.5]


def test_a_file_without_rows_has_no_pages(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", pa.table({"symbol": pa.array([], pa.string())}))
    assert walk_parquet(path, "x").num_rows == 0


def test_bytes_of_texts_count_repeats() -> None:
    plain = pa.chunked_array([["aa", None, "é"], ["aa"]])
    assert text_bytes(plain) == text_bytes(plain.dictionary_encode()) == 6  # é has two


def test_a_damaged_page_is_an_error(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.parquet", pa.table({"symbol": ["A"], "x": [1.0]}), compression="none"
    )
    content = bytearray(path.read_bytes())
    content[4:12] = b"\xff" * 8  # the first page begins behind the four bytes PAR1
    path.write_bytes(content)
    with pytest.raises(InputError, match="a damaged page"):
        walk_parquet(path, "x")


@pytest.mark.parametrize(
    ("columns", "read"),
    [
        (("symbol",), lambda path: load_space(path, "x")),
        (("pert", "gene"), lambda path: read_predicted_table(path, WANTED)),
        (("pert", "gene"), lambda path: list(table_of(path.read_bytes(), path.name).records())),
    ],
    ids=["space", "predicted changes", "table"],
)
@pytest.mark.parametrize("as_dictionary", [True, False])
def test_texts_that_are_no_utf_8_are_refused(
    tmp_path: Path, columns: tuple[str, ...], read: Callable[[Path], object], as_dictionary: bool
) -> None:
    """Arrow reads them, and breaks off in the middle of what asks for one."""
    broken = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"A\xc1")]
    )
    texts = dict.fromkeys(columns, broken)
    path = write(
        tmp_path / "x.parquet",
        pa.table(texts | {"log2fc": [1.0, -1.0]}),
        use_dictionary=as_dictionary,
    )
    with pytest.raises(InputError, match=r"UTF-?8"):
        read(path)
