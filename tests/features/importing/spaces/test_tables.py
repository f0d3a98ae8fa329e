"""Tables that read as gene spaces: first lines that are rows, odd columns, tables on their side, symbols of spreadsheets."""

from __future__ import annotations

import bz2
import gzip
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from core.base.errors import InputError
from core.features.importing.spaces.load import load_space

SYMBOLS = ["STAT1", "IRF1", "MYD88", "TLR4"]
VECTORS = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
FRAME = pd.DataFrame(VECTORS, index=SYMBOLS, columns=["d0", "d1", "d2"])

PACK = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda text: pa.Codec("zstd").compress(text, asbytes=True),
}
FORMATS = (".csv", ".tsv", ".csv.gz", ".tsv.bz2", ".csv.zst", ".parquet", ".xlsx")


def write(frame: pd.DataFrame, path: Path) -> Path:
    """Write a table as its file's suffixes say."""
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".xlsx":
        frame.to_excel(path)
    else:
        text = frame.to_csv(sep="\t" if ".tsv" in path.suffixes else ",").encode()
        path.write_bytes(PACK[path.suffix](text) if path.suffix in PACK else text)
    return path


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_a_first_line_of_numbers_is_a_row(tmp_path: Path, delimiter: str) -> None:
    FRAME.to_csv(tmp_path / "x.csv", header=False, sep=delimiter)
    found = load_space(tmp_path / "x.csv", "x")
    assert found.symbols == tuple(SYMBOLS)
    np.testing.assert_allclose(found.vectors, VECTORS)


@pytest.mark.parametrize("header", [[0, 1, 2], [1, 2, 3], ["a", "b", "c"]])
def test_names_of_columns_are_no_row(tmp_path: Path, header: list[object]) -> None:
    FRAME.set_axis(header, axis=1).rename_axis("gene").to_csv(tmp_path / "x.csv")
    assert load_space(tmp_path / "x.csv", "x").symbols == tuple(SYMBOLS)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n_cells", [1000, 1001, 1002, 1003]),
        ("cluster", [0, 1, 0, 2]),
        ("length", [900, 2_000, 40, 5]),
        ("x9", [50_000, 40_000, 1, 90_000]),
        ("mean_counts", [0.5, 2.25, 0.1, 7.5]),
        ("pct_dropout_by_counts", [99.5, 12.25, 3.5, 7.5]),
        ("strand", [1, -1, 1, 1]),
        ("community", [0, 1, 0, 2]),
        ("degree", [4, 1, 3, 2]),
        ("mean", [0.5, 2.25, 0.1, 0.75]),
        *(
            (name, [1.0, 0.0, 1.0, 0.0])
            for name in ("label", "split", "batch", "p_value", "padj", "log2FC", "n_effects")
        ),
        ("baseMean", [50_000.5, 40_000.25, 1.5, 90_000.75]),
    ],
)
def test_columns_that_are_no_dimension_are_named_and_left_out(
    tmp_path: Path, name: str, values: list[float]
) -> None:
    FRAME.assign(**{name: values}).rename_axis("gene").to_csv(tmp_path / "x.csv")
    found = load_space(tmp_path / "x.csv", "x")
    assert found.vectors.shape == (4, 3)
    assert found.notes == (
        f"1 columns left out that are not dimensions ({name}); --keep-column keeps one",
    )
    assert load_space(tmp_path / "x.csv", "x", kept=[name]).vectors.shape == (4, 4)


def test_a_large_first_component_is_a_dimension(tmp_path: Path) -> None:
    frame = FRAME.set_axis(["PC1", "PC2", "PC3"], axis=1)
    frame.assign(PC1=frame["PC1"] * 5_000 + 0.5).rename_axis("gene").to_csv(tmp_path / "x.csv")
    assert load_space(tmp_path / "x.csv", "x").vectors.shape == (4, 3)


def test_whole_numbers_of_one_scale_are_dimensions(tmp_path: Path) -> None:
    pd.DataFrame([[1, 50], [0, 3], [7, 2]], index=SYMBOLS[:3], columns=["a", "b"]).to_csv(
        tmp_path / "x.csv"
    )
    assert load_space(tmp_path / "x.csv", "x").notes == ()


@pytest.mark.parametrize("names", [["d0", "d1", "d2"], ["PC_1", "PC_2", "PC_3"], ["0", "1", "2"]])
def test_a_table_on_its_side_is_refused(tmp_path: Path, names: list[str]) -> None:
    FRAME.T.set_axis(names, axis=0).to_csv(tmp_path / "x.csv")
    with pytest.raises(InputError, match="the table is transposed; expected a row for each gene"):
        load_space(tmp_path / "x.csv", "x")


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_table_on_its_side_is_refused_in_every_format(tmp_path: Path, suffix: str) -> None:
    path = write(FRAME.T, tmp_path / f"x{suffix}")
    with pytest.raises(
        InputError,
        match=rf"x{re.escape(suffix)}: rows are called d0, d1, d2, columns STAT1, IRF1.*transposed",
    ):
        load_space(path, "x")
    ids = FRAME.T.set_axis([f"ENSG{i:011d}" for i in range(4)], axis=1).set_axis(
        ["dim 1", "dim 2", "dim 3"]
    )
    with pytest.raises(InputError, match="the table is transposed"):
        load_space(write(ids, path), "x")


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_space_in_every_format(tmp_path: Path, suffix: str) -> None:
    found = load_space(write(FRAME.rename_axis("gene"), tmp_path / f"x{suffix}"), "x")
    assert (found.symbols, found.source) == (tuple(SYMBOLS), f"x{suffix}")
    np.testing.assert_allclose(found.vectors, VECTORS, rtol=1e-6)


@pytest.mark.parametrize(
    "symbols",
    [["100", "1", "2", "3"], ["1-Mar", "2-Sep", "1-Dec", "A"], ["2.31E+13", "1.0", "TRUE", "A"]],
)
def test_a_table_without_symbols_is_refused(tmp_path: Path, symbols: list[str]) -> None:
    FRAME.set_axis(symbols, axis=0).rename_axis("gene").to_csv(tmp_path / "x.csv")
    with pytest.raises(
        InputError, match=r"of 4 symbols are not gene symbols, the first .*; expected gene symbols"
    ):
        load_space(tmp_path / "x.csv", "x")


def test_rows_that_a_spreadsheet_made_are_named(tmp_path: Path) -> None:
    FRAME.set_axis(["STAT1", "1-Mar", "IRF1", "MYD88"], axis=0).rename_axis("gene").to_csv(
        tmp_path / "x.csv"
    )
    found = load_space(tmp_path / "x.csv", "x")
    assert found.symbols == ("STAT1", "IRF1", "MYD88")
    assert found.notes[0].startswith(
        "1 rows left out with symbols made by a spreadsheet (1-Mar in row 2): a date"
    )


@pytest.mark.parametrize("make", [list, tuple])
def test_vectors_of_genept(tmp_path: Path, make: type) -> None:
    content = {symbol: make(map(float, row)) for symbol, row in zip(SYMBOLS, VECTORS, strict=True)}
    (tmp_path / "x.pickle").write_bytes(pickle.dumps(content))
    np.testing.assert_allclose(load_space(tmp_path / "x.pickle", "x").vectors, VECTORS)
    (tmp_path / "y.pickle").write_bytes(pickle.dumps({"A": [0.5], "B": [0.5, 1.0]}))
    with pytest.raises(InputError, match="lists of 1 to 2 numbers, expected one length"):
        load_space(tmp_path / "y.pickle", "y")


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float64()), pa.list_(pa.float32(), 3), pa.large_list(pa.float64())]
)
def test_lists_in_parquet_are_vectors(tmp_path: Path, kind: pa.DataType) -> None:
    table = pa.table({"gene": SYMBOLS, "embedding": pa.array(VECTORS.astype(float).tolist(), kind)})
    parquet.write_table(table, tmp_path / "x.parquet")
    np.testing.assert_allclose(load_space(tmp_path / "x.parquet", "x").vectors, VECTORS)
    uneven = pa.table(
        {"gene": SYMBOLS[:2], "embedding": pa.array([[1.0], [1.0, 2.0]], pa.list_(pa.float64()))}
    )
    parquet.write_table(uneven, tmp_path / "y.parquet")
    with pytest.raises(InputError, match="lists of 1, 2 numbers, expected one length"):
        load_space(tmp_path / "y.parquet", "y")
