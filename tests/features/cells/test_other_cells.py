"""Cells in other formats are named, and what their refusal advises, followed, gives the same cells."""

from __future__ import annotations

import bz2
import gzip
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import anndata
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.io
from scipy.sparse import csr_matrix

from core.base.errors import UnknownFormat
from core.features.cells.anndata_file import open_cells
from core.features.cells.cell_formats import USE
from tests.features.cells.conventions import COUNTS, IDS, SCREEN, VALUES, as_texts, plain

BARCODES = [f"c{i}" for i in range(len(VALUES))]


def write_h5ad(path: Path) -> Path:
    anndata.AnnData(**plain()).write_h5ad(path)
    return path


def packed(pack: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(
        pack(write_h5ad(path.with_name("plain.h5ad")).read_bytes())
    )


def write_modalities(path: Path) -> None:
    with h5py.File(path, "w") as file:
        for name in ("obs", "var"):
            file.create_group(name)
        anndata.io.write_elem(file, "mod/rna", anndata.AnnData(**plain()))


def write_10x(group: str, genes: str) -> Callable[[Path], None]:
    """A matrix as Cell Ranger writes it: since version 3, or before."""

    def write(path: Path) -> None:
        counts, symbols, ids = (
            csr_matrix(COUNTS),
            np.array(SCREEN.genes, dtype="S"),
            np.array(IDS, dtype="S"),
        )
        kind, genome = (
            np.array([text] * len(symbols), dtype="S") for text in ("Gene Expression", "GRCh38")
        )
        columns = {"id": ids, genes: symbols, "feature_type": kind, "genome": genome}
        if group != "matrix":
            columns = {"genes": ids, genes: symbols}
        parts = {
            "data": counts.data.astype(np.int32),
            "indices": counts.indices,
            "indptr": counts.indptr,
        }
        parts |= {"shape": np.array(COUNTS.shape[::-1]), "barcodes": np.array(BARCODES, dtype="S")}
        with h5py.File(path, "w") as file:
            inside = file.create_group(group)
            of_genes = inside.create_group("features") if group == "matrix" else inside
            for where, values in ((inside, parts), (of_genes, columns)):
                for name, content in values.items():
                    where[name] = content

    return write


def write_matrix_market(folder: Path) -> None:
    folder.mkdir()
    with gzip.open(folder / "matrix.mtx.gz", "wb") as file:
        scipy.io.mmwrite(file, csr_matrix(COUNTS.T.astype(np.int32)))
    rows = {
        "features": [
            f"{i}\t{gene}\tGene Expression" for i, gene in zip(IDS, SCREEN.genes, strict=True)
        ],
        "barcodes": BARCODES,
    }
    for name, texts in rows.items():
        (folder / f"{name}.tsv.gz").write_bytes(
            gzip.compress("".join(f"{text}\n" for text in texts).encode())
        )


KINDS = {
    "x.h5ad.gz": (packed(gzip.compress), "packed by gzip"),
    "gzip under the name of cells.h5ad": (packed(gzip.compress), "packed by gzip"),
    "x.h5ad.bz2": (packed(bz2.compress), "packed by bz2"),
    "x.h5ad.zst": (
        packed(lambda content: pa.Codec("zstd").compress(content, asbytes=True)),
        "packed by zstd",
    ),
    "x.h5mu": (write_modalities, "MuData"),
    "filtered.h5": (write_10x("matrix", "name"), "a matrix of 10x"),
    "before.h5": (write_10x("GRCh38", "gene_names"), "a matrix of 10x"),
    "filtered": (write_matrix_market, "a matrix of 10x"),
}


@pytest.fixture
def texts_as_they_were() -> Iterator[None]:
    """The advice changes an option of pandas for its process."""
    with pd.option_context("future.infer_string", pd.get_option("future.infer_string")):
        yield


def follow(message: str, folder: Path) -> Path:
    """Do what a message says, in a folder; return the path of the cells that come of it."""
    known = {"anndata": anndata, "pandas": pd, "h5py": h5py}
    if "scanpy" in message:
        known["scanpy"] = pytest.importorskip("scanpy")
    steps = re.findall(r"`([^`]+)`", message.replace(USE, ""))
    for step in sorted(
        steps, key=lambda step: not step.startswith("pandas.")
    ):  # which is said to come first
        if re.match(r"(gunzip|bunzip2|unzstd) ", step):
            subprocess.run(step, shell=True, check=True, cwd=folder)
        elif step == "cells.obs['perturbation']":
            known["cells"].obs["perturbation"] = as_texts(VALUES)
        else:
            exec(step, known)
    return folder / "cells.h5ad"


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")  # of packages that announce their own future
@pytest.mark.usefixtures("texts_as_they_were")
@pytest.mark.parametrize("kind", KINDS)
def test_what_its_refusal_advises_gives_the_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    write, words = KINDS[kind]
    path = tmp_path / kind.rpartition(" ")[2].replace("cells.h5ad", "other.h5ad")
    write(path)
    with pytest.raises(UnknownFormat, match=words) as caught, open_cells(path):
        pass
    if "zst" in words and shutil.which("unzstd") is None:
        pytest.skip("no unzstd here")
    monkeypatch.chdir(tmp_path)
    with open_cells(follow(str(caught.value).removeprefix(f"{path}: "), tmp_path)) as file:
        assert file.genes == tuple(SCREEN.genes)
        assert file.obs["perturbation"].astype(str).tolist() == VALUES.tolist()
        values = np.vstack([block.toarray() for _, block in file.blocks()])
    np.testing.assert_array_equal(values, COUNTS)
