"""Files of cells: blocks, backed and in memory, and each kind of malformed file with its own message."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.sparse import csr_matrix, issparse

from core.base.errors import InputError, UnknownFormat
from core.features.cells.anndata_file import open_cells, summarise_counts
from tests.features.cells.conftest import WriteCells

OBS = {"perturbation": ["ctrl", "A", "A"]}
COUNTS = np.array([[3, 0], [0, 2], [1, 1]], dtype=np.float32)


@pytest.mark.parametrize("sparse", [True, False])
def test_blocks_hold_every_cell_once(cells_file: WriteCells, sparse: bool) -> None:
    values = np.arange(14, dtype=np.float32).reshape(7, 2)
    path = cells_file(
        csr_matrix(values) if sparse else values, {"perturbation": ["ctrl"] * 7}, ["A", "B"]
    )
    with open_cells(path) as file:
        blocks = list(file.blocks(3))
        assert [(rows.start, rows.stop) for rows, _ in blocks] == [(0, 3), (3, 6), (6, 7)]
        assert all(issparse(block) == sparse for _, block in blocks)
        read = np.vstack([block.toarray() if issparse(block) else block for _, block in blocks])
        assert np.array_equal(read, values)
        assert (file.n_cells, file.genes) == (7, ("A", "B"))


def test_counts_are_summarised(cells_file: WriteCells) -> None:
    with open_cells(cells_file(csr_matrix(COUNTS), OBS, ["A", "B"])) as file:
        summary = summarise_counts(file)
    assert summary.totals.tolist() == [3, 2, 2]
    assert summary.whole_numbers


@pytest.mark.few(3)
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1.0, "cell cell1, gene B: -1.0 is negative"),
        (np.nan, "gene B: nan is not finite"),
        (np.inf, "gene B: inf is not finite"),
    ],
)
def test_values_that_are_no_counts_are_named(
    cells_file: WriteCells, sparse: bool, value: float, message: str
) -> None:
    values = COUNTS.copy()
    values[1, 1] = value
    with (
        open_cells(cells_file(csr_matrix(values) if sparse else values, OBS, ["A", "B"])) as file,
        pytest.raises(InputError, match=message),
    ):
        summarise_counts(file)


def test_log_transformed_values_are_told_from_counts(cells_file: WriteCells) -> None:
    with (
        open_cells(cells_file(np.log1p(COUNTS * 1e4), OBS, ["A", "B"])) as file,
        pytest.raises(
            InputError, match=r"looks log-transformed: .* the largest is 10\.3"
        ),  # log1p(30,000)
    ):
        summarise_counts(file)
    with open_cells(
        cells_file(COUNTS * 9.5, OBS, ["A", "B"])
    ) as file:  # corrected counts: 28.5 is no logarithm of a count
        with pytest.raises(InputError, match=r"the largest is 28\.5 and cells sum to 19 to 23\.75"):
            summarise_counts(file)
        assert not summarise_counts(file, "counts").whole_numbers


def test_duplicated_genes_are_refused(cells_file: WriteCells) -> None:
    path = cells_file(np.ones((3, 3), dtype=np.float32), OBS, ["A", "B", "A"])
    with (
        open_cells(path) as file,
        pytest.raises(
            InputError, match="gene symbols that stand there more than once: A; expected each once"
        ),
    ):
        file.name_genes(["A"], None)


def test_empty_matrices_are_refused(cells_file: WriteCells) -> None:
    with (
        pytest.raises(InputError, match="0 cells × 2 genes"),
        open_cells(
            cells_file(np.empty((0, 2), dtype=np.float32), {"perturbation": []}, ["A", "B"])
        ),
    ):
        pass
    with (
        open_cells(cells_file(np.zeros((3, 2), dtype=np.float32), OBS, ["A", "B"])) as file,
        pytest.raises(InputError, match="all values are 0"),
    ):
        summarise_counts(file)


def test_other_files_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "cells.h5ad"
    other.write_text("pert,gene\n")
    with pytest.raises(UnknownFormat, match="no HDF5 file"), open_cells(other):
        pass
    with pytest.raises(InputError, match="cannot be read"), open_cells(tmp_path / "nothing.h5ad"):
        pass
    pipe = tmp_path / "pipe.h5ad"
    os.mkfifo(pipe)
    with pytest.raises(UnknownFormat, match="a named pipe"), open_cells(pipe):
        pass
    with h5py.File(tmp_path / "plain.h5ad", "w") as plain:
        plain["numbers"] = [1, 2]
    with (
        pytest.raises(InputError, match=r"expected|no values"),
        open_cells(tmp_path / "plain.h5ad"),
    ):
        pass


def test_a_damaged_file_is_refused(cells_file: WriteCells) -> None:
    path = cells_file(csr_matrix(COUNTS), OBS, ["A", "B"])
    path.write_bytes(path.read_bytes()[:3_000])
    with pytest.raises(InputError, match="cannot be read as AnnData"), open_cells(path):
        pass


@pytest.mark.parametrize("sparse", [True, False])
def test_depth_of_cells_is_that_of_normalised_values(cells_file: WriteCells, sparse: bool) -> None:
    """Number of genes, and the smallest value; cells without counts first, in between and last, and a zero that is stored."""
    dense = np.array([[0, 0, 0], [3, 0, 1], [0, 0, 0], [2, 2, 2], [0, 0, 0]], dtype=np.float32)
    values = csr_matrix(dense)
    values[0, 1] = 1.0
    values.data[0] = 0.0  # of the first cell
    path = cells_file(values if sparse else dense, {"gene": ["NT"] * 5}, ["A", "B", "C"])
    with open_cells(path) as file:
        found = summarise_counts(file)
    assert found.detected.tolist() == [0, 2, 0, 3, 0]
    assert found.least.tolist() == [np.inf, 1.0, np.inf, 2.0, np.inf]


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ({}, r"has no values \(X is empty\), expected counts of cells × genes$"),
        ({"layers": "raw_counts"}, r"--layer NAME: raw_counts$"),
        ({"obsm": "X_pred"}, r"expected counts of cells × genes$"),
        ({"layers": "spliced", "obsm": "X_pred"}, r"--layer NAME: spliced$"),
    ],
)
def test_files_without_x_name_their_layers(
    cells_file: WriteCells, kept: dict[str, str], words: str
) -> None:
    path = cells_file(COUNTS, OBS, ["A", "B"])
    with h5py.File(path, "a") as file:
        for group, name in kept.items():
            file.copy("X", file.require_group(group), name)
        del file["X"]
    with pytest.raises(InputError, match=words), open_cells(path):
        pass
    if "layers" in kept:
        with open_cells(path, kept["layers"]) as file:
            assert summarise_counts(file).totals.tolist() == [3, 2, 2]
