"""The leakage audit of the published files: the reference figures of the probe, planted leaks, and no false alarm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.actions.imports import import_paths
from core.actions.workspace import Workspace, open_workspace
from core.config import Settings
from core.stats.space_probe import SpaceProbe, probe_space
from core.transfer.similarity import unit_vectors
from tests.commands import core_json

pytestmark = pytest.mark.real

SHARED_GENES = {  # target genes in both splits, counted by set operations on the files
    "k562": 4_118,
    "k562_set": 20,
    "hepg2": 7_096,
}


@pytest.fixture(scope="module")
def everything(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The challenge, the published runs, PerturbQA, every knowledge pack, and the spaces text and STRING."""
    folders = [shared_data / name for name in ("challenge", "perturbagent", "perturbqa", "knowledge")]
    return with_spaces(tmp_path_factory.mktemp("everything"), folders)


@pytest.fixture
def challenge_workspace(shared_data: Path, tmp_path: Path) -> Workspace:
    """The challenge, what the spaces text and STRING, paralogs and names of one gene are read from, and these spaces."""
    names = ("gene_desc", "string_edges", "mouse_to_human_ortholog", "symbol_to_ensp")
    packs = [shared_data / "knowledge" / f"{name}.json" for name in names]
    return with_spaces(tmp_path, [shared_data / "challenge", *packs])


def with_spaces(folder: Path, paths: list[Path]) -> Workspace:
    """A workspace of these files with the spaces text and STRING."""
    workspace = open_workspace(Settings(workspace=folder, author="tester"))
    import_paths(workspace, paths)
    core_json(folder, "embed", "text", "--name", "text")
    core_json(folder, "embed", "network", "--name", "STRING")
    return workspace


def audit(workspace: Workspace, dataset: str) -> Any:
    return core_json(workspace.settings.workspace, "audit", "leakage", "--dataset", dataset)


@pytest.mark.soak
def test_the_challenge_has_no_finding(challenge_workspace: Workspace) -> None:
    assert_no_finding(challenge_workspace)


@pytest.mark.soak
def test_the_challenge_has_no_finding_beside_everything_else(everything: Workspace) -> None:
    assert_no_finding(everything)


def assert_no_finding(workspace: Workspace) -> None:
    found = audit(workspace, "bmdm")
    assert found["findings"] == []
    assert (found["shared_perts"], found["shared_genes"], found["notes"]) == (0, 0, [])
    probes = {space["name"]: (space["de"], space["dir"]) for space in found["spaces"]}
    assert probes["text"] == pytest.approx((0.55, 0.56), abs=0.01)
    assert probes["STRING"] == pytest.approx((0.57, 0.54), abs=0.01)
    [pair] = found["splits"]
    paralogs = {group["ortholog"]: group["b"] for group in pair["paralogs"]}
    assert set(paralogs) == {"BCL2A1", "IFI16", "IFIT1", "LILRB3", "LYZ", "PNP"}
    assert paralogs["IFI16"] == ["Ifi203", "Ifi209", "Mndal"]


@pytest.mark.soak
@pytest.mark.parametrize("dataset", SHARED_GENES)
def test_perturbqa_shares_genes_by_design_and_nothing_else(everything: Workspace, dataset: str) -> None:
    """STRING reaches DE 0.73 on k562, since genes that respond to most perturbations are close in it; it is no leak."""
    found = audit(everything, dataset)
    assert (found["shared_perts"], found["shared_genes"]) == (0, SHARED_GENES[dataset])
    [finding] = found["findings"]
    assert (finding["kind"], finding["name"]) == ("shared", "train and test")
    by_design = f"{SHARED_GENES[dataset]:,} target genes shared by design (PerturbQA is split by perturbation): "
    assert finding["what"].startswith(by_design)


def probe(rows: pd.DataFrame, matrix: pd.DataFrame) -> SpaceProbe:
    """The probe of genes × columns on labelled rows; genes without a vector are left out."""
    units = unit_vectors(matrix.to_numpy())
    vector = units.row[matrix.index.get_indexer(rows["gene"])]
    return probe_space(rows["label"].to_numpy(), rows["pert"].to_numpy(), vector, units.vectors, np.random.default_rng(0))


@pytest.fixture(scope="module")
def challenge(shared_data: Path) -> pd.DataFrame:
    return pd.read_csv(shared_data / "challenge" / "train.csv", keep_default_na=False)


@pytest.fixture(scope="module")
def label_matrix(challenge: pd.DataFrame) -> pd.DataFrame:
    """Genes × perturbations: 1 for up, -1 for down, 0 for none and for no row."""
    values = challenge.assign(value=challenge["label"].map({"up": 1.0, "down": -1.0, "none": 0.0}))
    return values.pivot_table(index="gene", columns="pert", values="value", fill_value=0.0)


def test_a_matrix_of_labels_is_found(challenge: pd.DataFrame, label_matrix: pd.DataFrame) -> None:
    found = probe(challenge, label_matrix)
    assert (found.de.value, found.dir.value) == pytest.approx((0.72, 0.999), abs=0.005)
    assert found.de.repeats_labels
    assert found.dir.repeats_labels
    assert min(found.de.excess, found.dir.excess) > 15


def test_its_noisy_decomposition_is_found(challenge: pd.DataFrame, label_matrix: pd.DataFrame) -> None:
    """128 columns with noise of twice their standard deviation, as a plausible embedding would be faked."""
    u, s, _ = np.linalg.svd(label_matrix.to_numpy(), full_matrices=False)
    columns = u[:, :128] * s[:128]
    spread = columns[label_matrix.to_numpy().any(axis=1)].std()
    noise = np.random.default_rng(0).normal(scale=2.1 * spread, size=columns.shape)
    found = probe(challenge, pd.DataFrame(columns + noise, index=label_matrix.index))
    assert (found.de.value, found.dir.value) == pytest.approx((0.64, 0.985), abs=0.025)
    assert found.repeats_labels


@pytest.mark.soak
def test_a_matrix_of_perturbqas_labels_is_found(shared_data: Path) -> None:
    """Its value among genes of like rates stays high, where that of an honest space falls."""
    rows = pd.read_csv(shared_data / "perturbqa" / "hepg2-dir.csv", keep_default_na=False)
    values = rows.assign(value=rows["label"] * 2.0 - 1.0)
    rows["label"] = rows["label"].map({1: "up", 0: "down"})
    found = probe(rows, values.pivot_table(index="gene", columns="pert", values="value", fill_value=0.0))
    assert found.dir.rate_matched > 0.95
    assert found.repeats_labels
