"""Gene names, cell lines and the choice of cells; and options that messages name."""

from __future__ import annotations

from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest

from core.base.errors import InputError
from core.features.cells.anndata_file import open_cells
from core.features.cells.columns import Columns, choose_columns
from core.features.cells.conditions import ReadingSettings, read_conditions
from core.features.cells.groups import GroupSettings, group_cells
from core.features.cells.label_record import describe
from core.features.cells.labels import LEFT_OUT, Thresholds, label_pairs
from core.features.cells.screen import LabelSettings, describe_cells
from tests.features.cells.conftest import WriteCells
from tests.features.cells.test_labels import changes

WriteCells = WriteCells
IDS = ["ENSG00000000001.4", "ENSG00000000002.1", "ENSG00000000003.2", "ENSG00000000004.1"]
NAMES = ["A", "B", "B", "nan"]


@pytest.fixture
def by_ids(tmp_path: Path) -> Path:
    """Two genes are called B, one has no name."""
    obs = pd.DataFrame(
        {"gene": np.array(["NT", "NT", "A", "B", "ENSG00000000001"], dtype=object)}, dtype=object
    )
    obs.index = pd.Index([f"c{i}" for i in range(5)], dtype=object)
    var = pd.DataFrame(
        {"gene_name": np.array(NAMES, dtype=object)},
        index=pd.Index(IDS, dtype=object),
        dtype=object,
    )
    anndata.AnnData(X=np.ones((5, 4), dtype=np.float32), obs=obs, var=var).write_h5ad(
        tmp_path / "ids.h5ad"
    )
    return tmp_path / "ids.h5ad"


def test_genes_that_share_a_name_go_by_the_index(by_ids: Path) -> None:
    with open_cells(by_ids) as file:
        found = read_conditions(file, ReadingSettings())
        assert file.genes == ("A", IDS[1], IDS[2], IDS[3])
        assert file.gene_names.column == "gene_name"
        assert found.names.singles == ("A", "B")  # the identifier without its version is A
        codes = label_pairs(changes([0.001] * 4, [-3.0] * 4), ["B"], file.gene_names, Thresholds())
        assert (codes[0] == LEFT_OUT).tolist() == [
            False,
            True,
            True,
            False,
        ]  # both genes that are called B
    lines = describe(describe_cells(by_ids)).lines
    assert (
        "gene names    gene_name of var; 1 names of several genes, which go by the index (B)"
        in lines
    )


def test_an_index_that_is_asked_for(by_ids: Path) -> None:
    with open_cells(by_ids) as file:
        read_conditions(file, ReadingSettings(gene_names="index"))
        assert file.genes == tuple(IDS)
        with pytest.raises(
            InputError, match=r"--gene-names hugo: no column of names in var, which has gene_name"
        ):
            read_conditions(file, ReadingSettings(gene_names="hugo"))


def entrez_file(folder: Path, index: list[str], entrez: list[object]) -> Path:
    """Cells whose perturbations are numbers that var has beside symbols."""
    obs = pd.DataFrame(
        {"gene": ["NT", "NT", "7", "8", "8"]}, index=[f"c{i}" for i in range(5)], dtype=object
    )
    var = pd.DataFrame(
        {"entrez_id": entrez, "symbol": ["A", "B", "C", "D"]}, index=index, dtype=object
    )
    var = var if isinstance(entrez[0], str) else var.astype({"entrez_id": float})
    obs.index, var.index = obs.index.astype(object), var.index.astype(object)
    anndata.AnnData(X=np.ones((5, 4), dtype=np.float32), obs=obs, var=var).write_h5ad(
        folder / "entrez.h5ad"
    )
    return folder / "entrez.h5ad"


@pytest.mark.parametrize("entrez", [[7, 8, 9, np.nan], ["7", "8", "9", "10"]])
@pytest.mark.parametrize("index", [IDS, ["7", "8", "9", "10"], ["A", "B", "C", "D"]])
def test_numbers_of_perturbed_genes_are_translated(
    index: list[str], entrez: list[object], tmp_path: Path
) -> None:
    with open_cells(entrez_file(tmp_path, index, entrez)) as file:
        found = read_conditions(file, ReadingSettings())
        assert (file.genes, found.names.singles) == (("A", "B", "C", "D"), ("A", "B"))


def test_numbers_as_names_of_genes_are_refused_with_the_way(tmp_path: Path) -> None:
    with open_cells(entrez_file(tmp_path, IDS, [7, 8, 9, 10])) as file:
        with pytest.raises(InputError, match="--gene-names symbol"):
            read_conditions(file, ReadingSettings(gene_names="entrez_id"))
        assert read_conditions(file, ReadingSettings(gene_names="symbol")).names.singles == (
            "A",
            "B",
        )


@pytest.mark.few(2)
@pytest.mark.parametrize("column", ["cell_line", "Cell Type", "celltype"])
def test_cells_of_several_lines_are_asked_about(cells_file: WriteCells, column: str) -> None:
    labels = ["NT"] * 4 + ["A"] * 4
    line = ["K562", "K562", "K562", "RPE1"] + ["K562", "RPE1"] * 2
    path = cells_file(np.ones((8, 1), dtype=np.float32), {"gene": labels, column: line}, ["A"])
    with open_cells(path) as file:
        found = read_conditions(file, ReadingSettings())
        [one] = found.confounders
        assert one.line() == (
            f"{column}: K562 (3 of 4 controls, 2 of 4 perturbed cells), RPE1 (1 of 4 controls, 2 of 4 perturbed cells)"
        )
        with pytest.raises(
            InputError,
            match=rf"choose one with --where {column}=K562, or take them together with --across",
        ):
            found.refuse_unclear("x", ())
        with pytest.raises(
            InputError,
            match=rf"--where {column}=K562, compare inside each with --within {column}, or",
        ):
            found.refuse_unclear("x", (), within=True)
        found.refuse_unclear("x", (column,))
        chosen = read_conditions(file, ReadingSettings(where={column: "RPE1"}))
        assert (chosen.confounders, chosen.is_control.sum(), chosen.is_chosen.sum()) == ((), 1, 3)
        assert group_cells(
            file, read_conditions(file, ReadingSettings()), None, GroupSettings(2)
        ).n_cells.tolist() == [4]
        with pytest.raises(
            InputError, match=rf"--where {column}=HeLa: no cell has it; {column} has K562, RPE1"
        ):
            read_conditions(file, ReadingSettings(where={column: "HeLa"}))
        with pytest.raises(InputError, match="where column 'line': not in obs"):
            read_conditions(file, ReadingSettings(where={"line": "K562"}))


@pytest.mark.soak
@pytest.mark.parametrize("values", [("K562", "RPE1"), ("HepG2", "Jurkat"), ("hek293t", "HeLa")])
def test_lines_are_told_by_their_names(cells_file: WriteCells, values: tuple[str, str]) -> None:
    columns = {
        "gene": ["NT"] * 4 + ["A"] * 4,
        "background": [*values] * 4,
        "class": [values[0]] * 4 + ["targeting"] * 4,
    }
    with open_cells(cells_file(np.ones((8, 1), dtype=np.float32), columns, ["A"])) as file:
        [one] = read_conditions(file, ReadingSettings()).confounders
    assert (one.column, one.is_line) == ("background", True)


def test_batches_that_differ_are_named(cells_file: WriteCells) -> None:
    columns = {
        "gene": ["NT"] * 4 + ["A"] * 4,
        "donor": ["d1"] * 4 + ["d1", "d2"] * 2,
        "lane": ["1", "2"] * 4,
        "phase": ["G1"] * 4 + ["S"] * 4,
    }
    with open_cells(cells_file(np.ones((8, 1), dtype=np.float32), columns, ["A"])) as file:
        found = read_conditions(file, ReadingSettings())
    assert [each.column for each in found.confounders] == ["donor"]


def test_unknown_genes_are_named_with_the_ways(cells_file: WriteCells) -> None:
    labels = ["NT", "NT", "A", "A", "Z", "Z"]
    path = cells_file(np.ones((6, 2), dtype=np.float32), {"gene": labels}, ["A", "B"])
    ways = r"--separator.*--perturbation COLUMN.*--control.*--gene-names COLUMN.*--keep-unknown"
    with (
        open_cells(path) as file,
        pytest.raises(InputError, match=rf"not among its 2 genes: Z, but A, B …; .*{ways}"),
    ):
        group_cells(file, read_conditions(file, ReadingSettings()), None, GroupSettings(2))


def test_settings_of_reading_are_in_the_identity() -> None:
    plain = LabelSettings().identity()
    assert LabelSettings(where={"cell_line": "K562"}).identity() == {
        **plain,
        "where": {"cell_line": "K562"},
    }


def obs(**columns: list[str | None]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Categorical(values) for name, values in columns.items()})


def test_columns_are_found_by_name() -> None:
    found = choose_columns(obs(Batch=["1", "2"], Gene=["NT", "A"], guide=["x", "y"], n=["1", "2"]))
    assert found == Columns("Gene", "NT", "Batch", "guide")


def test_the_first_column_with_controls_counts() -> None:
    """`gene` stands before `condition`, but holds no control."""
    found = choose_columns(obs(gene=["A", "B"], condition=["ctrl", "A+ctrl"]))
    assert (found.perturbation, found.control, found.others) == ("condition", "ctrl", ("gene",))


def test_what_is_given_counts() -> None:
    found = choose_columns(
        obs(gene=["NT", "A"], hit=["safe", "A"], run=["1", "2"]), "hit", ("safe",), "run"
    )
    assert found == Columns("hit", "safe", "run", None, ("perturbation", "control", "batch"))


@pytest.mark.parametrize(
    ("columns", "given", "message"),
    [
        (
            {"cluster": ["1", "2"]},
            {},
            "no perturbation column: obs has cluster, expected one of gene",
        ),
        (
            {"gene": ["A", "B"]},
            {},
            "no control cells: column 'gene' has the values A, B, expected non-targeting",
        ),
        (
            {"gene": ["A", "NT"]},
            {"control": ("ctrl",)},
            "has the values NT, expected 'ctrl' among them",
        ),
        (
            {"gene": ["A", "NT"]},
            {"perturbation": "hit"},
            "perturbation column 'hit': not in obs, which has gene",
        ),
        ({"gene": ["A", "NT"]}, {"batch": "day"}, "batch column 'day': not in obs"),
        ({"gene": [None, None]}, {}, "no control cells"),
    ],
)
def test_what_is_missing_is_named(
    columns: dict[str, list[str | None]], given: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        choose_columns(obs(**columns), **given)
