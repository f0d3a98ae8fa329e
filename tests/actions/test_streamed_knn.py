"""A file of pairs predicted by a kNN: row for row what a run of the same settings holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from core.actions.component_loader import default_dataset
from core.actions.imports import import_upload
from core.actions.streamed_knn import predict_file
from core.actions.workspace import Workspace
from core.errors import InputError
from core.store import predictions, runs
from core.transfer.knn import DEFAULT, Weighting
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import EvaluationProtocol, SimilaritySettings
from tests import worlds
from tests.derived import save_knn

COLUMNS = ["prediction_up", "prediction_down", "p_de", "p_up_given_de", "support"]
TEST = EvaluationProtocol("test")


def settings_of(weighting: Weighting = DEFAULT, protocol: EvaluationProtocol = TEST) -> KnnSettings:
    return KnnSettings(("near",), protocol, SimilaritySettings(weighting))


@pytest.mark.soak
@pytest.mark.parametrize("axis", ["gene", "pert"])
def test_rows_are_those_of_a_run(screen: Workspace, tmp_path: Path, axis: str) -> None:
    settings = settings_of(Weighting(axis=axis))  # type: ignore[arg-type]
    dataset = default_dataset(screen, None)
    save_knn(screen, dataset, settings, "knn")
    with screen.store.read() as db:
        expected = predictions.frame(db, runs.find(db, "knn").id)
    expected = expected.iloc[::-1]  # any order
    columns = {name: expected[name].tolist() for name in ("pert", "gene")}
    parquet.write_table(pa.table(columns), tmp_path / "pairs.parquet", row_group_size=3)
    found = predict_file(screen, dataset, settings, tmp_path / "pairs.parquet", tmp_path / "out.parquet")
    made = parquet.read_table(tmp_path / "out.parquet").to_pandas()
    np.testing.assert_allclose(made[COLUMNS].to_numpy(float), expected[COLUMNS].to_numpy(float), rtol=1e-12)
    assert made["flags"].tolist() == [" ".join(flags) for flags in expected["flags"]]
    assert made[["pert", "gene"]].to_numpy().tolist() == expected[["pert", "gene"]].to_numpy().tolist()
    assert (found.rows, found.symbols) == (len(expected), expected[axis].nunique())
    assert found.uncovered == expected.loc[made["flags"].eq("uncovered").to_numpy(), axis].nunique()
    assert ("uncovered" in made["flags"].tolist()) == (axis == "gene")  # H2 has no vector


def test_genes_that_no_row_of_the_dataset_has_are_looked_up_too(small_workspace: Workspace, tmp_path: Path) -> None:
    """New is as Gc by hand in test_derived_runs; nobody knows Odd, which gets the base rates: 2 of 4 changed, 1 of 2 up."""
    vectors = {"Ga": [1, 0], "Gb": [0.6, 0.8], "New": [0.8, 0.6]}
    import_upload(small_workspace, worlds.table_of(vectors), "near.csv")
    parquet.write_table(pa.table({"pert": ["Any", "Any"], "gene": ["Odd", "New"]}), tmp_path / "pairs.parquet")
    found = predict_file(
        small_workspace, default_dataset(small_workspace, None), settings_of(), tmp_path / "pairs.parquet", tmp_path / "out"
    )
    rows = parquet.read_table(tmp_path / "out").to_pylist()
    prior = 0.64 / (0.64 + 0.9216)
    assert [row["p_de"] for row in rows] == [0.5, pytest.approx(prior, rel=1e-6)]
    assert [row["prediction_up"] for row in rows] == [0.25, pytest.approx(prior / 2, rel=1e-6)]
    assert [row["flags"] for row in rows] == ["uncovered", ""]
    assert (found.rows, found.symbols, found.uncovered) == (2, 2, 1)


def test_what_would_be_no_prediction_is_refused(small_workspace: Workspace, tmp_path: Path) -> None:
    import_upload(small_workspace, worlds.table_of({"Ga": [1, 0], "Gb": [0.6, 0.8]}), "near.csv")
    dataset, pairs, out = default_dataset(small_workspace, None), tmp_path / "pairs.parquet", tmp_path / "out.parquet"
    parquet.write_table(pa.table({"pert": ["Pa"], "gene": ["Ga"]}), pairs)
    with pytest.raises(InputError, match="Pa on Ga is a labelled row"):
        predict_file(small_workspace, dataset, settings_of(), pairs, out)
    with pytest.raises(InputError, match="under folds: expected the protocol test"):
        predict_file(small_workspace, dataset, settings_of(protocol=EvaluationProtocol()), pairs, out)
    with pytest.raises(InputError, match="axis: got both"):
        predict_file(small_workspace, dataset, settings_of(Weighting(axis="both")), pairs, out)
    assert not out.exists()
    out.write_text("mine")
    with pytest.raises(InputError, match="exists; choose another --out"):
        predict_file(small_workspace, dataset, settings_of(), pairs, out)
    assert out.read_text() == "mine"
