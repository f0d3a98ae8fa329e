"""The leakage audit of the published files: the reference figures of the probe, planted leaks, and no false alarm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.features.importing.actions import import_paths
from core.features.leakage.inputs import check_rows, check_space, check_texts
from core.features.leakage.probe import QUESTIONS, labelled_rows, probe_score
from core.runs.workspace import Workspace
from core.transfer.row_index import RowIndex
from tests.commands import core_json
from tests.worlds import workspace_in

pytestmark = pytest.mark.real

SHARED_GENES = {  # target genes in both splits, counted by set operations on the files
    "k562": 4_118,
    "k562_set": 20,
    "hepg2": 7_096,
}


@pytest.fixture(scope="module")
def everything(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The challenge, the published runs, PerturbQA, every knowledge pack, and the spaces text and STRING."""
    folder = tmp_path_factory.mktemp("everything")
    workspace = workspace_in(folder)
    names = ("challenge", "perturbagent", "perturbqa", "knowledge")
    import_paths(workspace, [shared_data / name for name in names])
    core_json(folder, "embed text --name text")
    core_json(folder, "embed network --name STRING")
    return workspace


def audit(workspace: Workspace, dataset: str) -> Any:
    return core_json(workspace, "audit", "leakage", "--dataset", dataset)


@pytest.mark.soak
def test_the_challenge_has_no_finding(everything: Workspace) -> None:
    found = audit(everything, "bmdm")
    assert found["findings"] == []
    assert (found["shared_perts"], found["shared_genes"], found["notes"]) == (0, 0, [])
    assert found["count_only_de"] == pytest.approx(0.6726, abs=5e-4)
    assert found["rarer_up_dir"] == pytest.approx(0.5694, abs=5e-4)
    [pair] = found["splits"]
    paralogs = {group["ortholog"]: group["b"] for group in pair["paralogs"]}
    assert set(paralogs) == {"BCL2A1", "IFI16", "IFIT1", "LILRB3", "LYZ", "PNP"}
    assert paralogs["IFI16"] == ["Ifi203", "Ifi209", "Mndal"]


@pytest.mark.soak
@pytest.mark.parametrize("dataset", SHARED_GENES)
def test_perturbqa_shares_genes_by_design_and_nothing_else(
    everything: Workspace, dataset: str
) -> None:
    """STRING reaches DE 0.73 within perturbations of k562: genes that respond to most are close in it. It is no leak."""
    found = audit(everything, dataset)
    assert (found["shared_perts"], found["shared_genes"]) == (0, SHARED_GENES[dataset])
    [finding] = found["findings"]
    assert (finding["kind"], finding["name"]) == ("shared", "train and test")
    by_design = f"{SHARED_GENES[dataset]:,} target genes shared by design (PerturbQA is split by perturbation): "
    assert finding["what"].startswith(by_design)


def read_rows(shared_data: Path, dataset: str) -> pd.DataFrame:
    """The labelled rows of the challenge or of a cell line: pert, gene, label (up, down, none, de), split."""
    if dataset == "bmdm":
        return pd.read_csv(shared_data / "challenge" / "train.csv", keep_default_na=False).assign(
            split="train"
        )
    de, direction = (
        pd.read_csv(shared_data / "perturbqa" / f"{dataset}-{name}.csv", keep_default_na=False)
        for name in ("de", "dir")
    )
    rows = de.merge(
        direction[["pert", "gene", "label"]], on=["pert", "gene"], how="left", suffixes=("_de", "")
    )
    rows["label"] = (
        rows["label"]
        .map({1.0: "up", 0.0: "down"})
        .where(rows["label_de"] == 1, "none")
        .fillna("de")
    )
    return rows[["pert", "gene", "label", "split"]]


@pytest.fixture(
    scope="module",
    params=["bmdm", *(pytest.param(name, marks=pytest.mark.soak) for name in ("k562", "hepg2"))],
)
def rows(request: pytest.FixtureRequest, shared_data: Path) -> pd.DataFrame:
    return read_rows(shared_data, request.param)


@pytest.fixture(scope="module")
def index(rows: pd.DataFrame) -> RowIndex:
    return index_of(rows)


def index_of(rows: pd.DataFrame) -> RowIndex:
    return RowIndex.build(
        (rows["pert"] + "_" + rows["gene"]).tolist(),
        rows["pert"].tolist(),
        rows["gene"].tolist(),
        rows["label"].to_numpy(object),
        rows["split"],
    )


def found_in(index: RowIndex, vectors: pd.DataFrame) -> list[str]:
    """What is found in a space of symbols × columns that was loaded."""
    return check_space(index, vectors.reindex(list(index.symbols)).to_numpy(np.float64))


def label_matrix(rows: pd.DataFrame, by: str, other: str) -> pd.DataFrame:
    """1 for up, -1 for down, a half for an effect of unknown direction, 0 for none and for no row."""
    values = rows.assign(value=rows["label"].map({"up": 1.0, "down": -1.0, "none": 0.0, "de": 0.5}))
    return values.pivot_table(index=by, columns=other, values="value", fill_value=0.0)


def noise_like(table: pd.DataFrame, columns: int = 30) -> pd.DataFrame:
    return pd.DataFrame(
        np.random.default_rng(0).normal(size=(len(table), columns)), index=table.index
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("axis", ["gene", "pert"])
def test_label_shares_among_noise_have_seen_labels(
    index: RowIndex, rows: pd.DataFrame, axis: str
) -> None:
    known = rows.assign(
        effect=rows["label"] != "none",
        up=(rows["label"] == "up").where(rows["label"].isin(["up", "down"])),
    )
    shares = (
        known.groupby(axis)[["effect", "up"]]
        .agg(lambda some: float(some.astype(float).mean()))
        .fillna(0.0)
    )
    [*_, finding] = found_in(index, pd.concat([noise_like(shares), shares], axis=1))
    assert "shares of" in finding
    assert found_in(index, noise_like(shares)) == []


@pytest.mark.few(1)
@pytest.mark.parametrize(("by", "other", "noise"), [("gene", "pert", 0.5), ("pert", "gene", 0.0)])
def test_a_matrix_of_labels_has_seen_them(
    index: RowIndex, rows: pd.DataFrame, by: str, other: str, noise: float
) -> None:
    matrix = label_matrix(rows, by, other)
    noisy = matrix + noise * np.random.default_rng(1).normal(size=matrix.shape)
    assert any("they tell the rows of one" in finding for finding in found_in(index, noisy))


def test_a_noisy_decomposition_of_labels_has_seen_them(index: RowIndex, rows: pd.DataFrame) -> None:
    """128 columns with noise of twice their standard deviation, as a plausible embedding would be faked."""
    matrix = label_matrix(rows, "gene", "pert")
    u, s, _ = np.linalg.svd(matrix.to_numpy(), full_matrices=False)
    columns = u[:, :128] * s[:128]
    columns += np.random.default_rng(0).normal(scale=2.1 * columns.std(), size=columns.shape)
    assert any(
        "of target genes apart: DIR" in finding
        for finding in found_in(index, pd.DataFrame(columns, index=matrix.index))
    )


@pytest.mark.soak
def test_answers_in_descriptions_are_named(
    index: RowIndex, rows: pd.DataFrame, shared_data: Path
) -> None:
    texts = json.loads((shared_data / "knowledge" / "gene_desc.json").read_text())
    assert check_texts(index, texts) == []
    some = rows[rows["label"] != "de"].sample(60, random_state=0)
    for pert, gene, label in zip(some["pert"], some["gene"], some["label"], strict=True):
        texts[gene] = f"{texts.get(gene, '')} Without {pert} it is {label}."
    [finding, *_] = check_texts(index, texts)
    assert finding.startswith("states labels as they are: ")
    assert any(
        f"{pert}_{gene} (" in finding for pert, gene in zip(some["pert"], some["gene"], strict=True)
    )


@pytest.mark.soak
def test_a_renamed_duplicate_is_named(rows: pd.DataFrame) -> None:
    name = rows["gene"].value_counts().index[5]
    both = pd.concat([rows, rows[rows["gene"] == name].assign(gene="Zzz9")], ignore_index=True)
    [finding] = [each for each in check_rows(index_of(both)) if "renamed" in each]
    assert finding.endswith(f"{name} = Zzz9")


@pytest.mark.soak
def test_oracles_among_runs(index: RowIndex) -> None:
    """Noisy ones and inverted ones; a mean over the labels of a gene's other rows is none."""
    rng = np.random.default_rng(0)
    for question in QUESTIONS:
        rows = labelled_rows(index, question)
        label, noise = rows.positive.astype(float), rng.normal(size=len(rows))
        n = np.bincount(rows.unit, minlength=len(index.symbols))[rows.unit] - 1
        hits = np.bincount(rows.unit, label, len(index.symbols))[rows.unit] - label
        mean = np.divide(hits, n, out=np.full(len(rows), 0.5), where=n > 0)
        for values, tail in (
            (label + 0.7 * noise, "labels"),
            (-label + 0.1 * noise, "inverted labels"),
            (mean, ""),
            (noise, ""),
        ):
            assert probe_score("run", rows, values).tail == tail


@pytest.mark.soak
@pytest.mark.parametrize(("by", "other", "noise"), [("gene", "pert", 0.5), ("pert", "gene", 0.0)])
def test_a_matrix_of_labels_of_twenty_pathways_has_seen_them(
    shared_data: Path, by: str, other: str, noise: float
) -> None:
    """Shares of so few units are not probed; members of one complex, whose labels are equal, are no renamed duplicates."""
    rows = read_rows(shared_data, "k562_set")
    index = index_of(rows)
    matrix = label_matrix(rows, by, other)
    noisy = matrix + noise * np.random.default_rng(1).normal(size=matrix.shape)
    assert any("they tell the rows of one" in finding for finding in found_in(index, noisy))
    assert found_in(index, noise_like(matrix)) == []
    assert check_rows(index) == []
