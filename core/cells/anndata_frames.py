"""The frames of an AnnData file that are read: obs, and the columns of var that name genes; nothing of uns, raw and the rest.

Frames and encodings are those of anndata 0.7 and later (dataframe 0.1.0 and 0.2.0).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd

from core.cells.hdf5_values import read_attribute, read_values
from core.cells.hdf5_walk import Hdf5File, damage_named
from core.cells.packages import import_hdf5
from core.errors import InputError

_FRAMES: Final = {("dataframe", "0.1.0"), ("dataframe", "0.2.0")}
ARRAYS: Final = {("", ""), ("array", "0.2.0"), ("string-array", "0.2.0")}
_NULLABLE: Final = {
    "nullable-integer": pd.arrays.IntegerArray,
    "nullable-boolean": pd.arrays.BooleanArray,
    "nullable-string-array": None,
}
Encoding = tuple[str, str]


def read_obs(file: Hdf5File) -> pd.DataFrame:
    """Return the columns of the cells.

    Raise InputError for anything but a frame of equally long columns, or is encoded in an unknown way.
    """
    return _read_frame(file, find_part(file, "obs"), lambda _: True)


def read_var(file: Hdf5File, is_wanted: Callable[[str], bool]) -> pd.DataFrame:
    """Return the names of the genes as index, with the wanted columns of var. Raise InputError as `read_obs`."""
    return _read_frame(file, find_part(file, "var"), is_wanted)


def find_part(file: Hdf5File, name: str) -> Any:
    """Return obs, var or X. Raise InputError if it is missing."""
    with damage_named(f"{file.path}: {name}"):
        if name not in file.root:
            raise InputError(f"{file.path}: no {name}, expected cells as AnnData with obs, var and X")
        return file.root[name]


def _read_frame(file: Hdf5File, node: Any, is_wanted: Callable[[str], bool]) -> pd.DataFrame:
    key, index = _read_index(file, node)
    names = [str(name) for name in np.atleast_1d(_attribute(file, node, "column-order"))]
    if len(set(names)) != len(names):
        raise InputError(f"{file.path}: {node.name}: a column stands there twice, expected each once")
    names = [name for name in names if is_wanted(name)]
    columns = {name: _read_column(file, find_child(file, node, name)) for name in names}
    for name, values in columns.items():
        if len(values) != len(index):
            raise InputError(f"{file.path}: {node.name}/{name}: {len(values):,} values, expected {len(index):,}")
    frame = pd.DataFrame(columns, index=index, columns=names or None)
    frame.index.name = None if key == "_index" else key
    return frame


def _read_index(file: Hdf5File, node: Any) -> tuple[str, pd.Index]:
    """Return the name of a frame's index, and the names in it."""
    encoding = encoding_of(file, node)
    if encoding not in _FRAMES:
        how = "a dataframe; what anndata before 0.7 wrote, a later one reads and writes again"
        raise unknown_encoding(file, node, encoding, how)
    key = _attribute(file, node, "_index")
    if not isinstance(key, str):
        raise InputError(f"{file.path}: {node.name}: its attribute _index is no text")
    index = pd.Index(_read_column(file, find_child(file, node, key)))
    return key, index if pd.api.types.is_string_dtype(index) else index.astype(str)


def _attribute(file: Hdf5File, node: Any, name: str) -> Any:
    found = read_attribute(file, node, name)
    if found is None:
        raise InputError(f"{file.path}: {node.name}: no attribute {name}, expected one of a dataframe")
    return found


def find_child(file: Hdf5File, node: Any, name: str) -> Any:
    """Return a group's child by name; names that lead out of the group are refused."""
    inside = not name.startswith("/") and not {"", ".", ".."} & set(name.split("/"))
    with damage_named(f"{file.path}: {node.name}: {name!r}"):
        if not inside or name not in node:
            raise InputError(f"{file.path}: {node.name}: no {name!r} in it")
        return node[name]


def encoding_of(file: Hdf5File, node: Any) -> Encoding:
    """Return the type and version of an object's encoding, "" for a missing one."""
    kind, version = (read_attribute(file, node, f"encoding-{name}") for name in ("type", "version"))
    return "" if kind is None else str(kind)[:60], "" if version is None else str(version)[:60]


def unknown_encoding(file: Hdf5File, node: Any, encoding: Encoding, expected: str) -> InputError:
    """Return the error for an object that is encoded in another way than expected."""
    got = f"encoding {encoding[0]!r} {encoding[1]!r}" if any(encoding) else "no encoding"
    return InputError(f"{file.path}: {node.name}: {got}, expected {expected}")


def _read_column(file: Hdf5File, node: Any) -> Any:
    """Return the values of a column: an array, categories, or an array with missing values."""
    encoding = encoding_of(file, node)
    if not is_group(node):
        if encoding not in ARRAYS:
            raise unknown_encoding(file, node, encoding, "an array or a string-array")
        values = read_values(file, node)
        reference = read_attribute(file, node, "categories")
        return values if reference is None else _read_old_categories(file, node, values, reference)
    if encoding == ("categorical", "0.2.0"):
        codes, categories = (read_values(file, find_child(file, node, name)) for name in ("codes", "categories"))
        return _categorical(file, node, codes, categories, ordered=read_attribute(file, node, "ordered"))
    if encoding[0] in _NULLABLE and encoding[1] == "0.1.0":
        return _read_nullable(file, node, encoding[0])
    raise unknown_encoding(file, node, encoding, "a categorical, a nullable array, an array or a string-array")


def _categorical(file: Hdf5File, node: Any, codes: Any, categories: Any, *, ordered: Any) -> pd.Categorical:
    """Return categories of their codes. Raise InputError for codes outside the categories."""
    where = f"{file.path}: {node.name}"
    if codes.dtype.kind not in "iu":
        raise InputError(f"{where}: codes of type {codes.dtype}, expected whole numbers")
    if len(codes) and not -1 <= int(codes.min()) <= int(codes.max()) < len(categories):
        raise InputError(
            f"{where}: codes from {int(codes.min()):,} to {int(codes.max()):,}, expected -1 to {len(categories) - 1:,}, "
            f"since it has {len(categories):,} categories"
        )
    with damage_named(where):
        return pd.Categorical.from_codes(codes, categories, ordered=bool(ordered))


def _read_old_categories(file: Hdf5File, node: Any, codes: np.ndarray, reference: Any) -> pd.Categorical:
    """Return the categories of a column of a dataframe 0.1.0, which refers to them; no reference leads out of that frame."""
    with damage_named(f"{file.path}: {node.name}"):
        kept = find_child(file, node.parent, "__categories")
        target = file.root[reference]
        if target.name is None or target.name.rpartition("/")[0] != kept.name:
            raise InputError(f"{file.path}: {node.name}: refers to {target.name}, expected categories in {kept.name}")
    ordered = read_attribute(file, target, "ordered")
    return _categorical(file, node, codes, read_values(file, target), ordered=ordered)


def _read_nullable(file: Hdf5File, node: Any, kind: str) -> Any:
    values, mask = (read_values(file, find_child(file, node, name)) for name in ("values", "mask"))
    with damage_named(f"{file.path}: {node.name}"):
        build = _NULLABLE[kind]
        if build is not None:
            return build(values, mask)
        texts = pd.array(values, dtype=pd.StringDtype())
        texts[mask] = pd.NA
        return texts


def is_group(node: Any) -> bool:
    """Return whether an object contains others."""
    return isinstance(node, import_hdf5().Group)
