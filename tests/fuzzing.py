"""Sound files of each kind that people upload, the same with some bits changed, and how each is read."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from safetensors.numpy import save

from core.base.types import Pair
from core.features.cells.anndata_file import open_cells, summarise_counts
from core.features.cells.predicted_table import WantedPairs, read_predicted_table
from core.features.experiments.ledger_table import read_published
from core.features.importing.files import recognise_upload
from core.features.importing.spaces.load import load_space
from tests import cases
from tests.features.cells import hostile_hdf5

_WANTED = WantedPairs((Pair("A_B", "A", "B", None, "test"),))


class FileKind(NamedTuple):
    """suffix: of the file's name. write: the bytes of a sound file, given a folder. read: reads a file whole."""

    suffix: str
    write: Callable[[Path], bytes]
    read: Callable[[Path], object]


def _cells(folder: Path) -> bytes:
    return hostile_hdf5.write_cells(folder / "sound.h5ad").read_bytes()


def _packed_cells(folder: Path) -> bytes:
    path = hostile_hdf5.write_cells(folder / "sound.h5ad")

    def pack(file: hostile_hdf5.h5py.File, _: Path) -> None:
        values = file["X/data"][()]
        del file["X/data"]
        file["X"].create_dataset(
            "data", data=values, chunks=(5,), compression="gzip", shuffle=True, fletcher32=True
        )

    with hostile_hdf5.h5py.File(path, "r+") as file:
        pack(file, folder)
    return path.read_bytes()


def _read_cells(path: Path) -> None:
    with open_cells(path) as file:
        summarise_counts(file)


def _table(*, compression: str, columns: tuple[str, ...]) -> Callable[[Path], bytes]:
    def write(_: Path) -> bytes:
        out = io.BytesIO()
        names = {name: ["A", "B", "C"] * 50 for name in columns}
        parquet.write_table(
            pa.table({**names, "log2_fc": (np.arange(150.0) - 75) / 10}),
            out,
            compression=compression,
        )
        return out.getvalue()

    return write


def _arrays(_: Path) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, genes=np.array(["A", "B", "C"]), vectors=np.arange(6.0).reshape(3, 2))
    return out.getvalue()


def _tensors(_: Path) -> bytes:
    return save({"x": np.arange(6, dtype=np.float32).reshape(3, 2)}, {"symbols": "A\nB\nC"})


def _zip(_: Path) -> bytes:
    return cases.zip_of({"submission.csv": cases.DEBATES, "prompt.txt": "x" * 100})


def _log(_: Path) -> bytes:
    """A log of Inspect AI."""
    sample = {
        "id": "Pa_Ga",
        "epoch": 1,
        "scores": {"s": {"value": {"prediction_up": 0.2, "prediction_down": 0.1}}},
        "messages": [],
    }
    members = {"header.json": {"eval": {"model": "m"}}, "samples/Pa_Ga_epoch_1.json": sample}
    return cases.zip_of({name: json.dumps(content) for name, content in members.items()})


def _recognise(path: Path) -> object:
    return recognise_upload(path.read_bytes(), path.name)


def _text(content: str) -> Callable[[Path], bytes]:
    return lambda _: content.encode()


_LEDGER = "name,hypothesis,dataset,z\nx,h,d,1.5\n"
_PACK = json.dumps({"A": "first words of it", "B": "second words of it", "C": "third words of it"})
KINDS = {
    "cells": FileKind(".h5ad", _cells, _read_cells),
    "packed-cells": FileKind(".h5ad", _packed_cells, _read_cells),
    "parquet-space": FileKind(
        ".parquet",
        _table(compression="zstd", columns=("symbol",)),
        lambda path: load_space(path, "x"),
    ),
    "parquet-table": FileKind(
        ".parquet",
        _table(compression="snappy", columns=("pert", "gene")),
        lambda path: read_predicted_table(path, _WANTED),
    ),
    "npz": FileKind(".npz", _arrays, lambda path: load_space(path, "x")),
    "safetensors": FileKind(".safetensors", _tensors, lambda path: load_space(path, "x")),
    "zip": FileKind(".zip", _zip, _recognise),
    "eval": FileKind(".eval", _log, _recognise),
    "csv": FileKind(".csv", lambda _: cases.DEBATES, _recognise),
    "ledger": FileKind(
        ".csv", _text(_LEDGER), lambda path: read_published(path.read_bytes(), path.name)
    ),
    "pack": FileKind(".json", _text(_PACK), _recognise),
    "word2vec": FileKind(".txt", _text("2 2\nA 1 2\nB 3 4\n"), lambda path: load_space(path, "x")),
}


def write_sound(kind: FileKind, folder: Path) -> Path:
    """Writes a sound file; returns its path."""
    path = folder / f"file{kind.suffix}"
    path.write_bytes(kind.write(folder))
    return path


def changed(content: bytes, seed: int) -> Iterator[bytes]:
    """Yields a file over and over: with bits that fell over, bytes that are another, pieces that are missing or there twice."""
    rng = random.Random(seed)
    while True:
        found = bytearray(content)
        how = rng.randrange(6)
        if how < 3:
            for _ in range((1, 4, 40)[how]):
                found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
        elif how == 3:
            for _ in range(rng.choice((1, 8))):
                found[rng.randrange(len(found))] = rng.choice((0, 1, 127, 128, 255))
        else:
            start = rng.randrange(len(found))
            stop = min(len(found), start + rng.choice((1, 8, 100)))
            found[start:stop] = found[start:stop] * 2 if how == 4 else b""
        yield bytes(found)
