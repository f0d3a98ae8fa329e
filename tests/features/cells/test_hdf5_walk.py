"""Files that reach for other files, for memory or for time are refused by the name of the object, before a value is read."""

from __future__ import annotations

import resource
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_matrix, csr_matrix

from core.base.errors import InputError, UnsafeFile
from core.features.cells import hdf5_walk
from core.features.cells.anndata_file import open_cells
from core.features.cells.hdf5_walk import open_hdf5
from tests.features.cells import hostile_hdf5 as hostile


def read_all(path: Path, backed: bool) -> list[float]:
    """Every value of a file, the names of its genes and columns aside."""
    with open_cells(path, backed) as file:
        return [float(block.sum()) for _, block in file.blocks(4)]


@pytest.mark.parametrize("backed", [True, False])
def test_the_file_that_they_are_made_of_can_be_read(tmp_path: Path, backed: bool) -> None:
    path = hostile.write_cells(tmp_path / "cells.h5ad")
    assert read_all(path, backed) == [36.0, 42.0]  # 1 … 8, 9 … 12
    with open_cells(path, backed) as file:
        pd.testing.assert_frame_equal(file.obs, anndata.read_h5ad(path).obs)


@pytest.mark.parametrize("name", hostile.LEAVES_THE_FILE)
def test_whoever_leaves_the_file_is_refused(tmp_path: Path, name: str) -> None:
    spoil, words = hostile.LEAVES_THE_FILE[name]
    path = hostile.write_spoilt(tmp_path, spoil)
    with pytest.raises(UnsafeFile) as refused:
        read_all(path, backed=True)
    assert words in str(refused.value)
    assert "secret" not in str(refused.value).replace("secrets.toml", "")


@pytest.mark.few(6)
@pytest.mark.parametrize("backed", [True, False])
@pytest.mark.parametrize("name", hostile.TOO_LARGE)
def test_more_than_the_file_can_hold_is_refused(tmp_path: Path, name: str, backed: bool) -> None:
    spoil, words = hostile.TOO_LARGE[name]
    path = hostile.write_spoilt(tmp_path, spoil)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError) as refused:
        read_all(path, backed)
    assert words in str(refused.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # kilobytes


@pytest.mark.few(15)
@pytest.mark.parametrize("backed", [True, False])
@pytest.mark.parametrize("name", hostile.NO_CELLS)
def test_what_is_no_file_of_cells_is_refused(tmp_path: Path, name: str, backed: bool) -> None:
    spoil, words = hostile.NO_CELLS[name]
    path = hostile.write_spoilt(tmp_path, spoil)
    if not backed:
        words = words.replace("cells 1 to 4 cannot", "X: cannot")
    with pytest.raises(InputError) as refused:
        read_all(path, backed)
    assert words in str(refused.value)


def test_many_objects_and_levels_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = hostile.write_cells(tmp_path / "cells.h5ad")
    monkeypatch.setattr(hdf5_walk, "MOST_OBJECTS", 8)
    with pytest.raises(UnsafeFile, match="more than 8 objects"):
        open_hdf5(path)


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ({15: 4}, "a text of 288,230,376,"),
        ({0: 0, 8: 0}, "free space of 0 bytes"),
    ],  # the highest byte of a length; number, length
)
def test_texts_behind_which_there_is_no_next_one_are_refused(
    tmp_path: Path, places: dict[int, int], words: str
) -> None:
    """HDF5 itself looks for it for ever."""
    path = hostile.write_cells(tmp_path / "cells.h5ad")
    content = bytearray(path.read_bytes())
    first = content.index(b"GCOL\x01") + 16
    for place, byte in places.items():
        content[first + place] = byte
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        open_cells(path)


def test_an_object_with_several_names_is_visited_once(tmp_path: Path) -> None:
    """Groups with two links each to the next: 2 ** 40 ways lead to the last."""

    def spoil(file: h5py.File, _: Path) -> None:
        group = file["uns"]
        for _ in range(40):
            inner = group.create_group("one")
            group["other"] = inner
            group = inner

    assert read_all(hostile.write_spoilt(tmp_path, spoil), backed=True) == [36.0, 42.0]


def test_what_is_not_read_costs_nothing(tmp_path: Path) -> None:
    def spoil(file: h5py.File, _: Path) -> None:
        file["uns"].create_dataset("bomb", (10**9,), "f8", chunks=(10**6,), compression="gzip")
        file["layers"].create_dataset("never", (6, 10**9), "f8")
        file["uns"].create_dataset("odd", data=np.ones(3, dtype=complex))
        file.create_group("obsm")["list"] = np.zeros(4, dtype=[("a", "i4")])
        file["uns/note"] = h5py.SoftLink("/obs/gene")

    path = hostile.write_spoilt(tmp_path, spoil)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert read_all(path, backed=True) == read_all(path, backed=False) == [36.0, 42.0]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_more_memory_than_there_is_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = hostile.write_cells(tmp_path / "cells.h5ad")
    monkeypatch.setattr("core.base.file_limits.memory_for_reading", lambda: 500)
    with pytest.raises(
        InputError, match=r"/obs/gene: needs about 0 MB of memory, and 0 MB may be used"
    ):
        open_cells(path)


def _categories(codes: list[int], names: list[str], *, ordered: bool = False) -> pd.Categorical:
    return pd.Categorical.from_codes(codes, pd.Index(names, dtype=object), ordered=ordered)


def _frame(n: int) -> pd.DataFrame:
    """A column of each kind that anndata writes."""
    columns = {
        "gene": _categories([0, 1, 2] * (n // 3), ["ctrl", "A", "B"]),
        "ordered": _categories([0, 1, 0] * (n // 3), ["low", "high"], ordered=True),
        "missing": _categories([0, -1, 1] * (n // 3), ["x", "y"]),
        "text": np.array(["é", "", "long " * 9] * (n // 3), dtype=object),
        "whole": np.arange(n, dtype=np.int64),
        "small": np.arange(n, dtype=np.uint8),
        "number": np.linspace(0, 1, n).astype(np.float32),
        "flag": np.arange(n) % 2 == 0,
        "maybe": pd.array([1, None, 3] * (n // 3), dtype="Int64"),
        "perhaps": pd.array([True, None, False] * (n // 3), dtype="boolean"),
        "numbered": pd.Categorical([3, 1, 2] * (n // 3)),
        "a/b": np.arange(n),
    }
    return pd.DataFrame(
        columns, index=pd.Index([f"cell{i}" for i in range(n)], dtype=object, name="barcode")
    )


@pytest.mark.few(1)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "how",
    [{}, {"compression": "gzip"}, {"compression": "lzf"}, {"compression": "gzip", "shuffle": True}],
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
            anndata.AnnData(X=values, obs=_frame(6), var=genes),
            dataset_kwargs=how,
        )
    with open_cells(tmp_path / "a.h5ad", backed=kind is not csc_matrix) as file:
        expected = anndata.read_h5ad(tmp_path / "a.h5ad")
        pd.testing.assert_frame_equal(file.obs, expected.obs)
        assert list(file.genes) == list("abcde")
        blocks = [
            block.toarray() if hasattr(block, "toarray") else block for _, block in file.blocks(4)
        ]
        assert np.array_equal(np.vstack(blocks), np.arange(30).reshape(6, 5))


@pytest.mark.filterwarnings("ignore")
def test_files_of_older_versions_are_read_as_anndata_reads_them(tmp_path: Path) -> None:
    path = hostile.write_cells(tmp_path / "0.7.h5ad")
    with h5py.File(path, "r+") as file:
        del file["obs/gene"]
        group = hostile.encode(file["obs"], "dataframe", "0.1.0")
        hostile.texts(group.create_group("__categories"), "gene", ["ctrl", "A", "B"])
        group["gene"] = np.array([0, 1, 1, 2, 2, -1], dtype=np.int8)
        group["gene"].attrs["categories"] = file["obs/__categories/gene"].ref
    for backed in (True, False):
        with open_cells(path, backed) as cells:
            pd.testing.assert_frame_equal(cells.obs, anndata.read_h5ad(path).obs)
            assert cells.genes == ("A", "B")
        assert read_all(path, backed) == [36.0, 42.0]


@pytest.mark.filterwarnings("ignore")
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
    with pytest.raises(
        InputError, match=r"/obs: encoding '', expected dataframe .* what anndata before 0\.7 wrote"
    ):
        open_cells(path)
    with pd.option_context("future.infer_string", False):
        anndata.read_h5ad(path).write_h5ad(tmp_path / "again.h5ad")
    assert read_all(tmp_path / "again.h5ad", True) == [36.0, 42.0]


@pytest.mark.parametrize("place", ["attribute", "dataset"])
def test_a_text_that_says_to_be_longer_than_all_of_them_is_refused(
    tmp_path: Path, place: str
) -> None:
    """HDF5 makes room for it before it finds that there is no such text."""
    path = hostile.write_cells(tmp_path / "cells.h5ad")
    content = bytearray(path.read_bytes())
    if place == "dataset":
        with h5py.File(path) as file:
            first = file["obs"][file["obs"].attrs["_index"]].id.get_offset()
    else:
        heap = content.index(b"GCOL\x01").to_bytes(8, "little")
        first = content.index(heap, content.index(b"encoding-type\0")) - 4
    content[first : first + 4] = (1 << 31).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(UnsafeFile, match="a text of 2,147,483,648 bytes, expected at most 4,096"):
        open_cells(path)


class Searched(bytes):
    """The bytes of a file that note each search through them."""

    searches: list[bytes]

    def find(self, text: bytes, *at: int) -> int:  # type: ignore[override]
        self.searches.append(text)
        return super().find(text, *at)


def test_a_file_is_searched_once_for_each_name_of_attributes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = hostile.write_cells(tmp_path / "cells.h5ad")
    with open_hdf5(path) as file:
        content = Searched(path.read_bytes())
        content.searches = []
        monkeypatch.setattr(hdf5_walk, "_map_file", lambda _: nullcontext(content))
        first = list(file.attribute_lengths("encoding-type", 1))
        searches = len(content.searches)
        assert first
        assert list(file.attribute_lengths("encoding-type", 1)) == first
        assert len(content.searches) == searches


def test_a_name_in_too_many_places_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hdf5_walk, "MOST_PLACES", 1)
    with pytest.raises(UnsafeFile, match="the name encoding-type in more than 1 places"):
        open_cells(hostile.write_cells(tmp_path / "cells.h5ad"))
