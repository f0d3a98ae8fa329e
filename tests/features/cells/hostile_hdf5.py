"""Files of cells with one thing wrong each: whoever made them wants another file of the machine, its memory, or its time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anndata
import h5py
import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

N_CELLS, GENES = 6, ("A", "B")
Spoil = Callable[[h5py.File, Path], object]


def write_cells(path: Path) -> Path:
    """Writes a small file of cells, every value stored; returns the path."""
    with h5py.File(path, "w") as file:
        encode(file, "anndata", "0.1.0")
        names = ["ctrl", "A", "A", "B", "B", "ctrl"]
        frame(file, "obs", [f"cell{i}" for i in range(N_CELLS)], {"gene": names})
        frame(file, "var", list(GENES), {})
        values = np.arange(1, 2 * N_CELLS + 1, dtype=np.float32).reshape(N_CELLS, len(GENES))
        anndata.io.write_elem(file, "X", csr_matrix(values))
        file.create_group("uns")
        file.create_group("layers")
    return path


def texts(group: h5py.Group, name: str, values: list[str]) -> h5py.Dataset:
    found = group.create_dataset(
        name, data=np.array(values, dtype=object), dtype=h5py.string_dtype()
    )
    return encode(found, "string-array", "0.2.0")


def encode(node: Any, kind: str, version: str) -> Any:
    node.attrs.update({"encoding-type": kind, "encoding-version": version})
    return node


def frame(file: h5py.File, name: str, index: list[str], columns: Mapping[str, list[str]]) -> None:
    texts_of = {column: np.array(values, dtype=object) for column, values in columns.items()}
    table = pd.DataFrame(texts_of, index=pd.Index(index, dtype=object), dtype=object)
    anndata.io.write_elem(file, name, table)


Maker = Callable[
    [h5py.Group, str, Path], object
]  # what it makes in a group, under a name, of a file


def _replace(place: str, make: Maker) -> Spoil:
    """Puts something else in the place of an object; what is made gets the group, the name and a folder."""

    def spoil(file: h5py.File, folder: Path) -> None:
        parent, _, name = place.rpartition("/")
        group = file[parent or "/"]
        if name in group:
            del group[name]
        make(group, name, folder)

    return spoil


def _external(shape: tuple[int, ...], dtype: str, other: str) -> Maker:
    def make(group: h5py.Group, name: str, folder: Path) -> None:
        secret = folder / other
        secret.write_bytes(b"api_key = secret\n" * 64)
        n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        group.create_dataset(name, shape=shape, dtype=dtype, external=[(str(secret), 0, n_bytes)])

    return make


def _virtual(of_itself: bool) -> Maker:
    def make(group: h5py.Group, name: str, folder: Path) -> None:
        source = "." if of_itself else str(folder / "other.h5")
        layout = h5py.VirtualLayout((N_CELLS,), "S8")
        layout[:] = h5py.VirtualSource(source, "obs/_index", (N_CELLS,), dtype="S8")
        group.create_virtual_dataset(name, layout)

    return make


def _linked(link: Any) -> Maker:
    def make(group: h5py.Group, name: str, folder: Path) -> None:
        write_cells(folder / "other.h5ad")
        group[name] = link

    return make


def _circle(group: h5py.Group, name: str, _: Path) -> None:
    group[name] = h5py.SoftLink("/uns/other")
    group["other"] = h5py.SoftLink(f"/uns/{name}")


def _user_defined(file: h5py.File, _: Path) -> None:
    """A link of a kind that nobody registered: made as one to another file, whose number is then changed from 64 to 65."""
    path = Path(file.filename)
    file["uns/odd link"] = h5py.ExternalLink("nobody.h5", "/x")
    file.close()
    content = bytearray(path.read_bytes())
    name = content.index(b"odd link")
    content[content.rindex(b"\x40", 0, name)] = 65
    path.write_bytes(bytes(content))


def _filter(code: int, flags: int) -> Maker:
    def make(group: h5py.Group, name: str, _: Path) -> None:
        made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        made.set_chunk((N_CELLS,))
        made.set_filter(code, flags, ())
        space = h5py.h5s.create_simple((N_CELLS,))
        h5py.h5d.create(group.id, name.encode(), h5py.h5t.NATIVE_INT32, space, made)

    return make


def _deep(levels: int) -> Spoil:
    def spoil(file: h5py.File, _: Path) -> None:
        group = file["uns"]
        for _ in range(levels):
            group = group.create_group("g")

    return spoil


def _declared(shape: tuple[int, ...], dtype: Any, **more: Any) -> Maker:
    return lambda group, name, _: encode(
        group.create_dataset(name, shape=shape, dtype=dtype, **more), "array", "0.2.0"
    )


def _same_text(n: int, n_bytes: int) -> Spoil:
    """A column whose texts all point to one long text: 16 bytes each in the file."""

    def spoil(file: h5py.File, _: Path) -> None:
        del file["obs"], file["X"]
        frame(file, "obs", ["x"] * n, {"gene": ["x" * n_bytes] + ["y"] * (n - 1)})
        path = Path(file.filename)
        at = file["obs/gene"].id.get_offset()
        file.close()
        content = bytearray(path.read_bytes())
        content[at : at + 16 * n] = content[at : at + 16] * n
        path.write_bytes(bytes(content))

    return spoil


def _attribute(place: str, name: str, value: Any) -> Spoil:
    def spoil(file: h5py.File, _: Path) -> None:
        file[place].attrs[name] = value

    return spoil


def _categorical(codes: Any, categories: list[str], kind: str = "categorical") -> Maker:
    def make(group: h5py.Group, name: str, _: Path) -> None:
        inner = encode(group.create_group(name), kind, "0.2.0")
        inner.attrs["ordered"] = False
        inner["codes"] = codes
        texts(inner, "categories", categories)

    return make


def _data(values: Any, **more: Any) -> Maker:
    return lambda group, name, _: group.create_dataset(name, data=values, **more)


# What is wrong → how to make it so, and a part of what is said.
LEAVES_THE_FILE = {
    "column-in-another-file": (
        _replace("obs/gene", _external((N_CELLS,), "S16", "secrets.toml")),
        "/obs/gene: values in another file",
    ),
    "values-in-another-file": (
        _replace("X/data", _external((12,), "f4", "memory")),
        "/X/data: values in another file",
    ),
    "unread-in-another-file": (
        _replace("uns/x", _external((3,), "i4", "m")),
        "/uns/x: values in another file",
    ),
    "virtual": (_replace("obs/gene", _virtual(False)), "/obs/gene: a virtual dataset"),
    "virtual-unread": (_replace("layers/x", _virtual(True)), "/layers/x: a virtual dataset"),
    "link-to-another-file": (
        _replace("obs/gene", _linked(h5py.ExternalLink("other.h5ad", "/obs/gene"))),
        "a link to another file",
    ),
    "obs-of-another-file": (
        _replace("obs", _linked(h5py.ExternalLink("other.h5ad", "/obs"))),
        "/obs: a link to another file",
    ),
    "link-of-its-own-kind": (_user_defined, "a link to another file"),
}
# Odd, but of no matter to whoever reads the cells.
HARMLESS = {
    "links-in-a-circle": _replace("uns/one", _circle),
    "group-in-itself": lambda file, _: file.__setitem__("obs/self", file["obs"]),
    "deep": _deep(70),
}
# More than the file can hold, or than there is memory for.
TOO_LARGE = {
    "codes-of-a-billion": _replace(
        "obs/gene", _declared((10**9,), "i1", chunks=(10**6,), compression="gzip")
    ),
    "column-never-written": _replace("obs/gene", _declared((10**10,), "f8")),
    "genes-of-a-billion": _replace("var/_index", _declared((10**9,), "S4")),
    "short-names-by-the-million": _replace("obs/_index", _declared((10**7,), "S1")),
    "dense-never-written": _replace("X", _declared((N_CELLS, 10**9), "f4")),
    "values-by-the-billion": _replace("X/indptr", _declared((10**9,), "i8")),
    "texts-that-are-one-text": _same_text(2_000, 100_000),
}
NO_CELLS = {
    "link-to-nothing": _replace("obs/gene", _linked(h5py.SoftLink("/gone"))),
    "filter-of-nobody": _replace("X/data", _filter(60_000, h5py.h5z.FLAG_OPTIONAL)),
    "complex": _replace("X", _data(np.ones((N_CELLS, 2), dtype=complex))),
    "unknown-encoding": _attribute("X", "encoding-type", "__import__('os')"),
    "unknown-column-encoding": _attribute("obs/gene", "encoding-type", "awkward-array"),
    "later-version": _attribute("obs", "encoding-version", "9.0.0"),
    "encoding-is-a-number": _attribute("X", "encoding-type", 7),
    "no-index": _attribute("obs", "_index", "gone"),
    "index-elsewhere": _attribute("obs", "_index", "/var/_index"),
    "column-elsewhere": lambda file, _: _order(file, ["/uns/bomb"]),
    "column-above": lambda file, _: _order(file, ["../var/_index"]),
    "column-too-short": _replace("obs/gene", _data(np.arange(3))),
    "code-too-large": _replace("obs/gene", _categorical(np.array([0, 1, 9, 0, 0, 0]), ["a", "b"])),
    "code-too-small": _replace("obs/gene", _categorical(np.array([0, -7, 1, 0, 0, 0]), ["a", "b"])),
    "codes-are-no-numbers": _replace("obs/gene", _categorical(np.ones(6), ["a", "b"])),
    "categories-twice": _replace("obs/gene", _categorical(np.zeros(6, "i1"), ["a", "a"])),
    "values-too-few": _replace("X/data", _data(np.ones(3, "f4"))),
    "indptr-too-short": _replace("X/indptr", _data(np.array([0, 12]))),
    "indptr-falls": _replace("X/indptr", _data(np.array([0, 2, 1, 6, 8, 10, 12]))),
    "indptr-beyond": _replace("X/indptr", _data(np.array([0, 2, 4, 6, 8, 10, 99]))),
    "indptr-negative": _replace("X/indptr", _data(np.array([-2, 2, 4, 6, 8, 10, 12]))),
    "index-negative": _replace("X/indices", _data(np.full(12, -1, "i4"))),
    "index-of-no-gene": _replace("X/indices", _data(np.full(12, 5, "i4"))),
    "other-shape": _attribute("X", "shape", np.array([10**9, 10**9])),
    "texts-as-values": _replace("X", lambda group, name, _: texts(group, name, ["a"] * 6)),
    "not-utf-8": _replace(
        "obs/gene", _data(np.array([b"\xff\xfe"] * 6), dtype=h5py.string_dtype())
    ),
    "no-var": lambda file, _: file.__delitem__("var"),
    "obs-is-a-number": _replace("obs", _data(7)),
}


# Those that a command is tried on, and a part of what it says.
COMMANDS = {
    **LEAVES_THE_FILE,
    **{
        name: (spoil, "")
        for name, spoil in TOO_LARGE.items()
        if name in ("codes-of-a-billion", "texts-that-are-one-text")
    },
    **{
        name: (NO_CELLS[name], "")
        for name in ("complex", "unknown-encoding", "code-too-large", "indptr-beyond")
    },
}


def write_spoilt(folder: Path, spoil: Spoil) -> Path:
    """Writes a file of cells with one thing wrong; returns the path."""
    path = write_cells(folder / "cells.h5ad")
    with h5py.File(path, "r+") as file:
        spoil(file, folder)
    return path


def _order(file: h5py.File, names: list[str]) -> None:
    file["obs"].attrs.create("column-order", names, dtype=h5py.string_dtype())
