"""Copy a Zarr store of cells (anndata's `write_zarr`) into HDF5, to be read like any .h5ad.

Of the store obs, var and the values are copied: X, or a requested layer. Of others only the names are copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from core.cells.hdf5_walk import damage_named
from core.cells.packages import import_hdf5, import_zarr
from core.cells.zarr_walk import ZarrNode, read_node
from core.errors import InputError

_ATTRIBUTES: Final = ("encoding-type", "encoding-version", "_index", "column-order", "shape", "ordered")
_BLOCK_VALUES: Final = 4_000_000
_FRAMES: Final = ("obs", "var")
_LAYERS: Final = ("layers", "obsm")


def copy_zarr(root: Path, target: Path, layer: str | None) -> None:
    """Write the cells of a store as HDF5. layer: as of `open_values`. Raise what `read_node` does, and InputError for damaged
    chunks."""
    h5py = import_hdf5()
    with h5py.File(target, "w") as file:
        for name in _FRAMES:
            _copy(root / name, file, name)
        for group in _LAYERS:
            for path in _children(root / group):
                if layer == path.name:
                    _copy(path, file, f"{group}/{layer}")
                else:
                    file.create_group(f"{group}/{path.name}")
        if layer in (None, "X"):
            _copy(root / "X", file, "X")


def _children(path: Path) -> list[Path]:
    """Return the groups and arrays in a group, sorted; none if it is missing."""
    return sorted(each for each in path.iterdir() if each.is_dir()) if path.is_dir() else []


def _copy(path: Path, file: Any, name: str) -> None:
    """Copy an array, or a group with its contents. A missing one is skipped; its reader reports it."""
    node = read_node(path)
    if node is None:
        return
    if node.is_array and node.shape:
        made = _copy_array(node, file, name)
    else:
        made = file.create_group(name)
        for child in _children(path) if not node.is_array else ():
            _copy(child, file, f"{name}/{child.name}")
    for key, value in _attributes(node):
        made.attrs[key] = value


def _attributes(node: ZarrNode) -> Iterator[tuple[str, Any]]:
    texts = import_hdf5().string_dtype()
    known: Mapping[str, Any] = {key: node.attributes[key] for key in _ATTRIBUTES if key in node.attributes}
    for key, value in known.items():
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            yield key, np.array(value, dtype=texts if value else float)
        elif isinstance(value, list) and all(isinstance(each, int) for each in value):
            yield key, np.array(value, dtype=np.int64)
        elif isinstance(value, str | bool | int):
            yield key, value
        else:
            raise InputError(f"{node.path}: attribute {key} {str(value)[:60]}, expected a text, a number or a list of these")


def _copy_array(node: ZarrNode, file: Any, name: str) -> Any:
    """Copy an array in blocks of rows."""
    zarr = import_zarr()
    kind = import_hdf5().string_dtype() if node.dtype is None else node.dtype
    made = file.create_dataset(name, shape=node.shape, dtype=kind)
    width = node.shape[1] if len(node.shape) == 2 else 1
    step = max(1, _BLOCK_VALUES // max(1, width) // node.chunks[0]) * node.chunks[0]
    with damage_named(str(node.path), "a Zarr store of AnnData"):
        values = zarr.open_array(zarr.storage.LocalStore(node.path, read_only=True), mode="r")
        for start in range(0, node.shape[0], step):
            block = np.asarray(values[start : start + step])
            made[start : start + step] = block.astype(object) if node.dtype is None else block
    return made
