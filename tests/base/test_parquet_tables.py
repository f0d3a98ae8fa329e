"""Parquet that is more than there is memory for, damaged or of other types is refused in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from core.base.errors import InputError, UnsafeFile
from core.base.tables import table_of
from core.base.types import Pair
from core.features.cells.predicted_table import WantedPairs, read_predicted_table
from core.features.importing.spaces.load import load_space

WANTED = WantedPairs((Pair("A_B", "A", "B", None, "test"),))


def write(path: Path, table: pa.Table, **how: Any) -> Path:
    parquet.write_table(table, path, **how)
    return path


def test_one_long_text_in_every_row_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.base.file_limits.memory_for_reading", lambda: 300_000_000)
    same = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(300_000, dtype=np.int32)), pa.array(["x" * 50_000])
    )
    numbers = pa.array(np.arange(300_000.0))
    path = write(
        tmp_path / "space.parquet", pa.table({"symbol": same, "x": numbers}), compression="none"
    )
    with pytest.raises(InputError, match="needs more memory than one file may take"):
        load_space(path, "x")
    table = pa.table({"pert": same, "gene": same, "log2_fc": numbers})
    path = write(tmp_path / "changes.parquet", table, compression="none")
    with pytest.raises(InputError, match=r"needs more memory|of 50,000 (bytes|characters)"):
        read_predicted_table(path, WANTED)


def test_more_empty_cells_than_the_file_can_mean_are_refused(tmp_path: Path) -> None:
    names = ("id", "pert", "gene", "label")
    empty = pa.table(dict.fromkeys(names, pa.nulls(3_000_000, pa.string())))
    path = write(tmp_path / "x.parquet", empty, row_group_size=1_000_000)
    with pytest.raises(UnsafeFile, match=r"x\.parquet: 3,000,000 rows of 4 columns: .* expected"):
        next(table_of(path.read_bytes(), path.name).records())
    million = pa.array([f"G{number % 1_000}" for number in range(1_000_000)]).dictionary_encode()
    grid = dict.fromkeys(names, million)
    path = write(tmp_path / "y.parquet", pa.table(grid), compression="zstd")
    assert next(table_of(path.read_bytes(), path.name).records()) == (2, ["G0"] * len(names))
    sparse = np.zeros(20_000, dtype=np.float32)
    columns = {"symbol": million[:20_000], **{f"d{number}": sparse for number in range(300)}}
    path = write(tmp_path / "z.parquet", pa.table(columns), compression="zstd")
    assert next(table_of(path.read_bytes(), path.name).records())[0] == 2


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
    assert found.log2_fc.tolist() == [1.5]


def test_a_damaged_page_is_an_error(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.parquet", pa.table({"symbol": ["A"], "x": [1.0]}), compression="none"
    )
    content = bytearray(path.read_bytes())
    content[4:12] = b"\xff" * 8  # the first page begins behind the four bytes PAR1
    path.write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as parquet"):
        load_space(path, "x")


@pytest.mark.parametrize(
    "read",
    [lambda path: load_space(path, "x"), lambda path: read_predicted_table(path, WANTED)],
    ids=["space", "predicted changes"],
)
def test_a_damaged_name_of_a_column_is_an_error(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    table = pa.table({"symbol": ["A"], "pert": ["A"], "gene": ["B"], "log2_fc": [1.0]})
    path = write(tmp_path / "x.parquet", table)
    path.write_bytes(path.read_bytes().replace(b"gene", b"g\x80ne"))
    with pytest.raises(InputError, match="cannot be read as parquet"):
        read(path)


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
