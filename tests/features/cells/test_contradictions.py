"""Columns of obs that say something else of a cell than that of perturbations, and how that is settled."""

from __future__ import annotations

from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest

from core.base.errors import InputError
from core.features.cells.confounders import describe_second_genes
from tests.features.cells.conventions import CONTROL, VALUES, as_texts, plain
from tests.features.cells.test_conventions import labelled

GENES = {gene: gene for gene in "ABC"}
FIRST = np.array(["A", "A", "B", "", ""], dtype=object)
CONTROLS = np.array([False, False, False, True, False])


def obs(**columns: list[object]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


@pytest.mark.parametrize(
    ("column", "second"),
    [
        ("gene", "gene_2"),
        ("perturbation", "perturbation2"),
        ("gene_1", "gene_2"),
        ("target_gene_A", "target_gene_B"),
    ],
)
def test_a_second_gene_is_seen(column: str, second: str) -> None:
    said = describe_second_genes(
        obs(**{second: ["ctrl", "B", "ctrl", "ctrl", ""]}), column, FIRST, CONTROLS, GENES
    )
    assert said == (
        f"{second} names a second perturbed gene of 1 cells (B); take the cells with one by --where {second}=ctrl, or write both "
        "into one column of obs (A+B)"
    )


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("gene_2", ["A", "A", "B", "", ""]),  # the same once more
        ("gene_2", ["", "", "", "ctrl", "B"]),  # of cells of which the first column says nothing
        ("gene_2", ["DMSO", "IFNg", "IFNg", "DMSO", "DMSO"]),  # treatments
        ("marker", ["B", "C", "A", "B", "C"]),  # called as nothing of the kind
    ],
)
def test_other_columns_name_no_second_gene(name: str, values: list[object]) -> None:
    assert describe_second_genes(obs(**{name: values}), "gene", FIRST, CONTROLS, GENES) == ""


def test_controls_with_a_second_gene_are_none() -> None:
    said = describe_second_genes(
        obs(gene_2=["NT", "NT", "NT", "C", ""]), "gene", FIRST, CONTROLS, GENES
    )
    assert said.startswith(
        "gene_2 names a second perturbed gene of 1 cells (C); take the cells with one by --where gene_2=NT"
    )


def test_a_combination_may_be_named_once_more() -> None:
    both = np.array(["A+B", "A", "B", "", ""], dtype=object)
    assert (
        describe_second_genes(
            obs(gene_2=["B", "NT", "NT", "NT", ""]), "gene", both, CONTROLS, GENES
        )
        == ""
    )


def write(path: Path, **columns: list[str]) -> Path:
    cells = plain()
    cells["obs"] = pd.DataFrame(
        {k: as_texts(v) for k, v in columns.items()}, index=cells["obs"].index, dtype=object
    )
    anndata.AnnData(**cells).write_h5ad(path)
    return path


@pytest.mark.soak
def test_cells_without_a_value_may_be_the_controls(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.h5ad", perturbation=["" if value == CONTROL else value for value in VALUES]
    )
    with pytest.raises(
        InputError,
        match=r"say with --control which value stands for controls \('' for cells without one\)",
    ):
        labelled(path)
    pd.testing.assert_frame_equal(
        labelled(path, control=("",)),
        labelled(write(tmp_path / "y.h5ad", perturbation=VALUES.tolist())),
    )
