"""Files that reach for other files are refused by the name of the object before a value is read; those that ask for memory or are damaged end in a refusal."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_matrix, csr_matrix

from core.base.errors import InputError, UnsafeFile
from core.features.cells.anndata_file import open_cells
from tests.features.cells import hostile_hdf5 as hostile

pytestmark = pytest.mark.filterwarnings("ignore")  # of older formats


def read_all(path: Path) -> list[float]:
    """Every value of a file, the names of its genes and columns aside."""
    with open_cells(path) as file:
        return [float(block.sum()) for _, block in file.blocks(4)]


def test_the_file_that_they_are_made_of_can_be_read(tmp_path: Path) -> None:
    path = hostile.write_cells(tmp_path / "cells.h5ad")
    assert read_all(path) == [36.0, 42.0]  # 1 … 8, 9 … 12


@pytest.mark.parametrize("name", hostile.LEAVES_THE_FILE)
def test_whoever_leaves_the_file_is_refused(tmp_path: Path, name: str) -> None:
    spoil, words = hostile.LEAVES_THE_FILE[name]
    path = hostile.write_spoilt(tmp_path, spoil)
    with pytest.raises(UnsafeFile) as refused:
        read_all(path)
    assert words in str(refused.value)
    assert "secret" not in str(refused.value).replace("secrets.toml", "")


@pytest.mark.few(6)
@pytest.mark.parametrize("name", hostile.TOO_LARGE)
def test_more_than_there_is_memory_for_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("core.base.file_limits.memory_for_reading", lambda: 300_000_000)
    path = hostile.write_spoilt(tmp_path, hostile.TOO_LARGE[name])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match=str(path)):
        read_all(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # kilobytes


@pytest.mark.few(15)
@pytest.mark.parametrize("name", hostile.NO_CELLS)
def test_what_is_no_file_of_cells_is_refused(tmp_path: Path, name: str) -> None:
    path = hostile.write_spoilt(tmp_path, hostile.NO_CELLS[name])
    with pytest.raises(InputError, match=str(path)):
        read_all(path)


@pytest.mark.parametrize("name", hostile.HARMLESS)
def test_what_is_odd_but_not_read_does_not_matter(tmp_path: Path, name: str) -> None:
    assert read_all(hostile.write_spoilt(tmp_path, hostile.HARMLESS[name])) == [36.0, 42.0]


def _frame() -> pd.DataFrame:
    """A column of each kind that anndata writes."""
    names = pd.Index(["ctrl", "A", "B"], dtype=object)
    columns = {
        "gene": pd.Categorical.from_codes([0, 1, 2] * 2, names),
        "ordered": pd.Categorical.from_codes([0, 1, 0] * 2, names, ordered=True),
        "missing": pd.Categorical.from_codes([0, -1, 1] * 2, names),
        "text": np.array(["é", "", "long " * 9] * 2, dtype=object),
        "whole": np.arange(6, dtype=np.int64),
        "small": np.arange(6, dtype=np.uint8),
        "number": np.linspace(0, 1, 6).astype(np.float32),
        "flag": np.arange(6) % 2 == 0,
        "maybe": pd.array([1, None, 3] * 2, dtype="Int64"),
        "perhaps": pd.array([True, None, False] * 2, dtype="boolean"),
        "numbered": pd.Categorical([3, 1, 2] * 2),
        "a/b": np.arange(6),
    }
    index = pd.Index([f"cell{i}" for i in range(6)], dtype=object, name="barcode")
    return pd.DataFrame(columns, index=index)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "how",
    [{}, {"compression": "gzip", "shuffle": True}],
)
@pytest.mark.parametrize("kind", [csr_matrix, csc_matrix, np.asarray])
def test_files_of_anndata_are_read_as_it_reads_them(
    tmp_path: Path, how: dict[str, object], kind: Callable[..., object]
) -> None:
    values = kind(np.arange(30.0).reshape(6, 5).astype(np.float32))
    with pd.option_context(
        "future.infer_string", False
    ):  # anndata does not write pandas 3's texts yet
        genes = pd.DataFrame(
            {"name": np.array(list("ABCDE"), dtype=object)},
            index=pd.Index(list("abcde"), dtype=object),
        )
        anndata.io.write_h5ad(
            tmp_path / "a.h5ad",
            anndata.AnnData(X=values, obs=_frame(), var=genes),
            dataset_kwargs=how,
        )
    with open_cells(tmp_path / "a.h5ad") as file:
        expected = anndata.read_h5ad(tmp_path / "a.h5ad")
        pd.testing.assert_frame_equal(file.obs, expected.obs)
        assert list(file.genes) == list("abcde")
        blocks = [
            block.toarray() if hasattr(block, "toarray") else block for _, block in file.blocks(4)
        ]
        assert np.array_equal(np.vstack(blocks), np.arange(30).reshape(6, 5))


def test_files_of_older_versions_are_read_as_anndata_reads_them(tmp_path: Path) -> None:
    path = hostile.write_cells(tmp_path / "0.7.h5ad")
    with h5py.File(path, "r+") as file:
        del file["obs/gene"]
        group = hostile.encode(file["obs"], "dataframe", "0.1.0")
        hostile.texts(group.create_group("__categories"), "gene", ["ctrl", "A", "B"])
        group["gene"] = np.array([0, 1, 1, 2, 2, -1], dtype=np.int8)
        group["gene"].attrs["categories"] = file["obs/__categories/gene"].ref
    with open_cells(path) as cells:
        pd.testing.assert_frame_equal(cells.obs, anndata.read_h5ad(path).obs)
        assert cells.genes == ("A", "B")
    assert read_all(path) == [36.0, 42.0]


def test_tables_of_anndata_0_6_are_refused_with_the_way(tmp_path: Path) -> None:
    path = hostile.write_cells(tmp_path / "0.6.h5ad")
    with h5py.File(path, "r+") as file:
        del file["obs"], file["var"], file.attrs["encoding-type"], file.attrs["encoding-version"]
        rows = [(f"cell{i}".encode(), i % 2, i / 2) for i in range(6)]
        file["obs"] = np.array(rows, dtype=[("index", "S8"), ("gene", "i1"), ("size", "f4")])
        file["var"] = np.array([(b"A", 1), (b"B", 2)], dtype=[("index", "S1"), ("n", "i4")])
        file["uns/gene_categories"] = np.array(["ctrl", "A"], dtype=object)
        for name in ("encoding-type", "encoding-version", "shape"):
            del file["X"].attrs[name]
        file["X"].attrs.update({"h5sparse_format": "csr", "h5sparse_shape": np.array([6, 2])})
    with pytest.raises(InputError, match=r"/obs: .* what anndata before 0\.7 wrote"):
        read_all(path)
    with pd.option_context("future.infer_string", False):
        anndata.read_h5ad(path).write_h5ad(tmp_path / "again.h5ad")
    assert read_all(tmp_path / "again.h5ad") == [36.0, 42.0]


def test_a_text_that_says_to_be_longer_than_all_of_them_is_refused(tmp_path: Path) -> None:
    """HDF5 makes room for it before it finds that there is no such text."""
    path = hostile.write_cells(tmp_path / "cells.h5ad")
    content = bytearray(path.read_bytes())
    with h5py.File(path) as file:
        first = file["obs"][file["obs"].attrs["_index"]].id.get_offset()
    content[first : first + 4] = (1 << 31).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as AnnData"):
        read_all(path)
