"""Zarr stores are read as the .h5ad of the same cells is; stores that lead elsewhere or unpack to more than they may are refused
unread."""

from __future__ import annotations

import gzip
import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import anndata
import numcodecs
import numpy as np
import pandas as pd
import pytest

from core.cells.anndata_file import CellFile, open_cells
from core.cells.cell_formats import hash_cells, is_cell_file
from core.errors import InputError, UnsafeFile
from core.importing.files import expand
from tests.cells.conventions import COUNTS, SCREEN, VALUES, plain

pytestmark = pytest.mark.filterwarnings("ignore")  # of anndata, which announces its own future


def write_store(path: Path, **changes: object) -> Path:
    anndata.AnnData(**(plain() | changes)).write_zarr(path)
    return path


def values_of(file: CellFile) -> np.ndarray:
    return np.vstack([block if isinstance(block, np.ndarray) else block.toarray() for _, block in file.blocks(100)])


@pytest.mark.soak
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_zarr_store_is_read_as_the_same_cells(tmp_path: Path, zarr_format: int) -> None:
    obs = plain()["obs"].assign(
        line=pd.Categorical.from_codes([0] * len(VALUES), pd.Index(["K562"], dtype=object)),
        n=np.arange(len(VALUES)),
        seen=pd.array([True, None, False] * 300, "boolean"),
    )
    for matrix in (plain()["X"], plain()["X"].tocsc(), COUNTS):
        with anndata.settings.override(zarr_write_format=zarr_format):
            path = write_store(tmp_path / f"{type(matrix).__name__}.zarr", X=matrix, obs=obs, layers={"other": COUNTS + 1})
        with open_cells(path) as file:
            assert file.path == path
            assert file.genes == tuple(SCREEN.genes)
            assert file.obs["perturbation"].astype(str).tolist() == VALUES.tolist()
            assert file.obs["seen"].isna().sum() == 300
            assert file.layers == ("other",)
            np.testing.assert_array_equal(values_of(file), COUNTS)
        with open_cells(path, layer="other") as file:
            np.testing.assert_array_equal(values_of(file), COUNTS + 1)


def test_a_zipped_store_is_read_too(tmp_path: Path) -> None:
    write_store(tmp_path / "folder" / "cells.zarr")
    path = Path(shutil.make_archive(str(tmp_path / "cells"), "zip", tmp_path / "folder"))
    assert is_cell_file(path)
    with open_cells(path) as file:
        np.testing.assert_array_equal(values_of(file), COUNTS)


@pytest.mark.soak
def test_a_store_without_x_names_its_layers(tmp_path: Path) -> None:
    path = write_store(tmp_path / "cells.zarr", X=None, layers={"counts": COUNTS})
    with pytest.raises(InputError, match=r"cells\.zarr: has no values .* --layer NAME: counts"):
        open_cells(path)


@pytest.mark.soak
def test_its_copy_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.file_io.gettempdir", lambda: str(tmp_path))
    path = write_store(tmp_path / "cells.zarr")
    with open_cells(path):
        assert len(list(tmp_path.glob("perturbdesk-*"))) == 1
    assert not list(tmp_path.glob("perturbdesk-*"))
    (path / "obs" / "zarr.json").unlink(missing_ok=True)
    (path / "obs" / ".zgroup").unlink(missing_ok=True)
    with pytest.raises(InputError, match="no obs"):
        open_cells(path)
    assert not list(tmp_path.glob("perturbdesk-*"))


@pytest.mark.soak
def test_identity_is_that_of_names_and_contents(tmp_path: Path) -> None:
    first, second = (write_store(tmp_path / name) for name in ("a.zarr", "b.zarr"))
    assert hash_cells(first) == hash_cells(second)
    (second / "more").write_text("")
    assert hash_cells(first) != hash_cells(second)
    assert [found.path for found in expand([first])] == [first]  # one thing to import, not its files


def find_array(store: Path) -> Path:
    return store / "X" / "data"


def change_json(file: Path, change: Callable[[dict], object]) -> None:
    found = json.loads(file.read_text())
    change(found)
    file.write_text(json.dumps(found))


def link_chunk(store: Path) -> None:
    chunk = find_array(store) / "0"
    shutil.copy(chunk, store.parent / "secret")
    chunk.unlink()
    chunk.symlink_to(store.parent / "secret")


def link_group(store: Path) -> None:
    (store / "obs").rename(store.parent / "obs")
    (store / "obs").symlink_to(store.parent / "obs")


def pack_bomb(store: Path) -> None:
    change_json(find_array(store) / ".zarray", lambda found: found.update(compressor={"id": "gzip", "level": 9}))
    (find_array(store) / "0").write_bytes(gzip.compress(bytes(200 << 20)))


def blosc_bomb(store: Path) -> None:
    chunk = find_array(store) / "0"
    content = bytearray(chunk.read_bytes())
    content[4:8] = struct.pack("<I", 2_000_000_000)
    chunk.write_bytes(content)


def in_metadata(**values: object) -> Callable[[Path], None]:
    return lambda store: change_json(find_array(store) / ".zarray", lambda found: found.update(values))


HOSTILE: dict[str, tuple[Callable[[Path], object], type[InputError], str]] = {
    "a chunk that is a link": (link_chunk, UnsafeFile, "a link"),
    "a group that is a link": (link_group, UnsafeFile, "a link"),
    "a chunk that unpacks to 200 MB": (pack_bomb, UnsafeFile, "unpack"),
    "a chunk that says to be 2 GB": (blosc_bomb, UnsafeFile, "unpack to 2,000,000,000"),
    "another codec": (in_metadata(compressor={"id": "pickle"}), UnsafeFile, "codec 'pickle', which is not read"),
    "another filter": (in_metadata(filters=[{"id": "json2"}]), UnsafeFile, "codec 'json2'"),
    "a shape without end": (in_metadata(shape=[10**15], chunks=[1 << 20]), UnsafeFile, "unpack to"),
    "a chunk without end": (in_metadata(chunks=[10**15]), UnsafeFile, "unpack to"),
    "chunks without end": (in_metadata(shape=[10**7], chunks=[1]), UnsafeFile, "10,000,000 chunks in 1 files"),
    "no list of sizes": (in_metadata(shape="all"), InputError, "expected a list of whole numbers"),
    "negative sizes": (in_metadata(shape=[-1]), InputError, "expected a list of whole numbers"),
    "objects of Python": (in_metadata(dtype="|O"), InputError, "expected numbers or texts"),
    "complex numbers": (in_metadata(dtype="<c16"), InputError, "expected real numbers or texts"),
    "another packing than said": (in_metadata(compressor={"id": "zstd"}), InputError, "not packed by zstd"),
    "metadata that are no JSON": (lambda store: (find_array(store) / ".zarray").write_text("{"), InputError, "damaged metadata"),
    "a shorter matrix": (in_metadata(shape=[5]), InputError, "as many values as indices"),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_stores_are_refused(tmp_path: Path, kind: str) -> None:
    spoil, error, words = HOSTILE[kind]
    with anndata.settings.override(zarr_write_format=2):
        path = write_store(tmp_path / "cells.zarr")
    spoil(path)
    with pytest.raises(error, match=words) as caught:
        open_cells(path)
    assert str(path) in str(caught.value)


@pytest.mark.soak
def test_format_3_refuses_other_codecs_and_shards(tmp_path: Path) -> None:
    with anndata.settings.override(zarr_write_format=3):
        path = write_store(tmp_path / "cells.zarr")
    for codec in ("sharding_indexed", "numcodecs.pickle"):
        change_json(find_array(path) / "zarr.json", lambda found, codec=codec: found.update(codecs=[{"name": codec}]))
        with pytest.raises(UnsafeFile, match=f"codec '{codec}'"):
            open_cells(path)


def test_the_codecs_of_zarr_are_read(tmp_path: Path) -> None:
    with anndata.settings.override(zarr_write_format=2):
        path = write_store(tmp_path / "cells.zarr")
    chunk = find_array(path) / "0"
    content = numcodecs.Blosc().decode(chunk.read_bytes())
    for codec in (numcodecs.GZip(), numcodecs.Zstd(), numcodecs.BZ2(), None):
        config = None if codec is None else codec.get_config()
        in_metadata(compressor=config)(path)
        chunk.write_bytes(bytes(content) if codec is None else codec.encode(content))
        with open_cells(path) as file:
            np.testing.assert_array_equal(values_of(file), COUNTS)
