"""Cells from a file and from the simulator, and every way in which a file can be wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from core.base.errors import InputError
from core.features.targets.expression import CellSource, normalise, read_source

CONDITIONS = ["ctrl"] * 20 + ["A+ctrl"] * 12 + ["B+A"] * 12


def written(
    folder: Path, change: Callable[[Any], Any] = lambda cells: cells, *, sparse: bool = True
) -> CellSource:
    """A file of 44 cells and three genes, changed; its source."""
    counts = np.random.default_rng(0).poisson(5.0, (len(CONDITIONS), 3)).astype(np.float32)
    obs = pd.DataFrame(
        {"condition": CONDITIONS, "batch": ["b1", "b2"] * 22},
        index=[f"c{i}" for i in range(len(CONDITIONS))],
    )
    cells = anndata.AnnData(
        X=csr_matrix(counts) if sparse else counts, obs=obs, var=pd.DataFrame(index=["A", "B", "C"])
    )
    cells = change(cells) or cells
    as_python = {
        name: pd.Categorical(cells.obs[name].astype(object)) for name in cells.obs
    }  # anndata writes no texts of pandas 3
    obs = pd.DataFrame(
        {
            name: values.set_categories(values.categories.astype(object))
            for name, values in as_python.items()
        }
    )
    obs.index, var = (
        cells.obs_names.astype(object),
        pd.DataFrame(index=cells.var_names.astype(object)),
    )
    anndata.AnnData(X=cells.X, obs=obs, var=var).write_h5ad(folder / "cells.h5ad")
    return CellSource(file=str(folder / "cells.h5ad"))


@pytest.mark.few(1)
@pytest.mark.parametrize("sparse", [True, False])
def test_a_file_is_read_as_counts_per_10_000(tmp_path: Path, *, sparse: bool) -> None:
    found = read_source(written(tmp_path, sparse=sparse))
    counts = np.random.default_rng(0).poisson(5.0, (44, 3))
    assert np.array_equal(found.cells.x, normalise(counts))
    assert found.cells.perturbed == ("A", "A+B")
    assert found.cells.is_control.sum() == 20
    assert set(found.cells.batches) == {"b1", "b2"}
    assert found.notes[:2] == (
        "44 of 44 cells, 3 genes.",
        "Perturbations: column condition; controls are of the same batch.",
    )


def test_of_many_cells_some_are_kept_and_those_without_a_condition_left_out(tmp_path: Path) -> None:
    def unassign(cells):
        cells.obs.loc["c0", "condition"] = None
        cells.obs = cells.obs.drop(columns="batch")

    source = written(tmp_path, unassign)
    found = read_source(CellSource(file=source.file, most_cells=11, seed=1))
    names, counts = np.unique(found.cells.conditions, return_counts=True)
    assert dict(zip(names.tolist(), counts.tolist(), strict=True)) == {
        "A": 11,
        "A+B": 11,
        "ctrl": 19,
    }
    assert set(found.cells.batches) == {"all"}
    assert "has no column of batches" in found.notes[1]
    assert any("missing, left out: 1 cells" in note for note in found.notes)


def set_value(value: float) -> Callable[[Any], None]:
    def change(cells: Any) -> None:
        counts = cells.X.toarray()
        counts[3, 1] = value
        cells.X = csr_matrix(counts)

    return change


def rename(column: str, name: str, value: str) -> Callable[[Any], None]:
    return lambda cells: cells.obs.insert(0, name, cells.obs.pop(column).replace({"ctrl": value}))


def log_transformed(cells: Any) -> None:
    cells.X = csr_matrix(np.log1p(cells.X.toarray()))


def duplicated(cells: Any) -> None:
    cells.var_names = ["A", "B", "B"]


def unknown_target(cells: Any) -> None:
    cells.obs["condition"] = cells.obs["condition"].replace({"A+ctrl": "Z+ctrl"})


def few_cells(cells: Any) -> Any:
    return cells[:38].copy()


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (rename("condition", "treatment", "ctrl"), "no perturbation column"),
        (rename("condition", "condition", "left alone"), "no control cells"),
        (set_value(-1.0), "cell c3, gene B: -1.0 is negative"),
        (set_value(float("nan")), "cell c3, gene B: nan is not finite"),
        (set_value(float("inf")), "is not finite"),
        (log_transformed, "looks log-transformed"),
        (duplicated, "stand there more than once"),
        (unknown_target, "perturbed genes Z: not among the 3 genes measured"),
        (few_cells, r"conditions with fewer than 10 cells: A\+B \(6\)"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(
    tmp_path: Path, change: Callable[[Any], Any], message: str
) -> None:
    source = written(tmp_path, change)
    with pytest.raises(InputError, match=message):
        read_source(source)
