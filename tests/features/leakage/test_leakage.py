"""Leaks that were planted in a workspace are found and named, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.features.importing.actions import import_upload
from core.features.importing.import_target import ImportOptions
from core.features.leakage.audit import find_leaks
from core.features.neighbours import spaces as space_actions
from core.runs.workspace import Workspace
from core.scoring import run_scores
from tests import cases, worlds
from tests.commands import core, core_json


@dataclass(frozen=True)
class Screen:
    """A screen as the challenge's: 40 perturbations of 20 rows, on genes that the test rows do not share."""

    train: pd.DataFrame
    test: pd.DataFrame


def made_screen() -> Screen:
    rng = np.random.default_rng(8)
    pairs = [
        (f"Pert{p}", f"Gene{g}") for p in range(40) for g in rng.choice(120, 20, replace=False)
    ]
    train = pd.DataFrame(pairs, columns=["pert", "gene"])
    train["label"] = rng.choice(["up", "down", "none"], len(train), p=[0.3, 0.2, 0.5])
    # genes of the test rows have one to six rows, so that row counts differ
    genes = [f"Other{g}" for g in range(70) for _ in range(1 + g % 6)]
    test = pd.DataFrame(
        {"pert": [f"New{i % 12}" for i in range(len(genes))], "gene": genes}
    ).drop_duplicates()
    for rows in (train, test):
        rows.insert(0, "id", rows["pert"] + "_" + rows["gene"])
    return Screen(train, test)


SCREEN = made_screen()


def as_file(rows: pd.DataFrame) -> bytes:
    return cases.as_csv(list(rows), rows.to_numpy().tolist())


def bring(workspace: Workspace, content: bytes, name: str, **options: Any) -> None:
    assert import_upload(workspace, content, name, ImportOptions(**options)).kind != "failed"


@pytest.fixture(scope="module")
def screen_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def fill(workspace: Workspace) -> None:
        bring(workspace, as_file(SCREEN.train), "train.csv")
        bring(workspace, as_file(SCREEN.test), "test.csv")

    return worlds.template(tmp_path_factory.mktemp("screen"), fill)


@pytest.fixture
def screened(screen_folder: Path, workspace: Workspace) -> Workspace:
    return worlds.copied(screen_folder, workspace)


def audit(workspace: Workspace, *arguments: str) -> Any:
    return core_json(workspace, "audit", "leakage", *arguments)


def predict(
    workspace: Workspace, name: str, ids: Iterable[str], p_de: np.ndarray, p_up: np.ndarray
) -> None:
    rows = [
        (key, de * up, de * (1 - up), "none") for key, de, up in zip(ids, p_de, p_up, strict=True)
    ]
    bring(workspace, cases.submission(rows), f"{name}.csv")


def noise(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.05, 0.95, n)


def label_space() -> bytes:
    """Genes × perturbations: 1 for up, -1 for down, and a little noise."""
    matrix = SCREEN.train.assign(
        value=SCREEN.train["label"].map({"up": 1.0, "down": -1.0, "none": 0.0})
    )
    table = matrix.pivot_table(index="gene", columns="pert", values="value", fill_value=0.0)
    values = table.to_numpy() + np.random.default_rng(1).normal(scale=0.05, size=table.shape)
    return worlds.table_of(dict(zip(table.index, values.round(4).tolist(), strict=True)))


def random_space() -> bytes:
    genes = sorted({*SCREEN.train["gene"], *SCREEN.test["gene"]})
    return worlds.table_of(
        {gene: noise(16, seed).round(4).tolist() for seed, gene in enumerate(genes)}
    )


@pytest.mark.soak
def test_a_sound_workspace_has_no_finding(screened: Workspace) -> None:
    bring(screened, random_space(), "sound.csv")
    predict(
        screened,
        "on train",
        SCREEN.train["id"],
        noise(len(SCREEN.train)),
        noise(len(SCREEN.train), 1),
    )
    predict(
        screened, "on test", SCREEN.test["id"], noise(len(SCREEN.test)), noise(len(SCREEN.test), 1)
    )
    found = audit(screened)
    assert found["findings"] == []
    assert found["splits"] == [
        {"a": "train", "b": "test", "shared_perts": 0, "shared_genes": 0, "paralogs": []}
    ]
    assert [(each["kind"], each["name"], each["remark"]) for each in found["inputs"]] == [
        ("rows", "bmdm", ""),
        ("space", "sound", ""),
        ("run", "on train", ""),
        ("run", "on test", ""),
    ]
    assert len(found["power"]) == 10
    assert len(found["notes"]) == 2  # no table of proteins, none of orthologs


@pytest.mark.soak
def test_a_space_built_from_the_labels_and_loaded_from_csv(screened: Workspace) -> None:
    bring(screened, label_space(), "embedding.csv")
    finding, *_ = findings = audit(screened)["findings"]
    assert {(each["kind"], each["name"]) for each in findings} == {("space", "embedding")}
    assert finding["what"].startswith("vectors of target genes: ")
    assert any(
        "they tell the rows of one of target genes apart: DIR" in each["what"] for each in findings
    )
    shares = []
    leaks = find_leaks(screened, "bmdm", shares.append)
    assert leaks == [(each["name"], each["what"]) for each in findings]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.soak
def test_a_space_that_declares_its_labels_is_named_and_not_accused(screened: Workspace) -> None:
    space_actions.embed(
        screened, "coresponse", "own", {"columns": 16, "seed": 0, "dataset": "bmdm", "of": "gene"}
    )
    found = audit(screened)
    assert found["findings"] == []
    [space] = [each for each in found["inputs"] if each["kind"] == "space"]
    assert space["remark"] == "reveals labels; declared as built from labels of bmdm"
    assert space["remark"] in core(screened, "audit", "leakage").out


@pytest.mark.parametrize("axis", ["DE", "DIR"])
def test_a_run_that_repeats_the_labels(screened: Workspace, axis: str) -> None:
    labels, n = SCREEN.train["label"], len(SCREEN.train)
    p_de = (labels != "none") * 0.6 + 0.3 * noise(n) if axis == "DE" else noise(n)
    p_up = (labels == "up") * 0.6 + 0.3 * noise(n, 1) if axis == "DIR" else noise(n, 1)
    predict(screened, "too good", SCREEN.train["id"], p_de, p_up)
    [finding] = audit(screened)["findings"]
    assert (finding["kind"], finding["name"]) == ("run", "too good")
    n_rows = len(SCREEN.train) if axis == "DE" else int((labels != "none").sum())
    assert finding["what"].startswith(
        f"suspiciously good: {axis} 1.000 on {n_rows} labelled rows, "
    )


@pytest.mark.few(1)
@pytest.mark.parametrize(("split", "sign"), [("train", 1), ("test", 1), ("test", -1)])
def test_count_only_posing_as_a_model(screened: Workspace, split: str, sign: int) -> None:
    """With other numbers than the control's, in its order or in the reverse one, with or without labels."""
    rows = getattr(SCREEN, split)
    control = run_scores.count_only(rows["pert"].to_numpy(), rows["gene"].to_numpy())
    p_de = 0.5 + 0.4 * np.tanh(sign * (control - control.mean())) + 0.001 * noise(len(rows))
    predict(screened, "a model", rows["id"], p_de, noise(len(rows), 1))
    [finding] = audit(screened)["findings"]
    assert (finding["kind"], finding["name"]) == ("run", "a model")
    assert finding["what"].startswith(
        f"the no-biology baseline (count-only) posing as a model: P(DE) ranks the {len(rows):,} rows of {split}"
    )


def test_rarer_gene_posing_as_a_model(screened: Workspace) -> None:
    count = SCREEN.test.groupby("gene")["id"].transform("count").to_numpy()
    predict(screened, "a model", SCREEN.test["id"], noise(len(count)), 0.9 / count)
    [finding] = audit(screened)["findings"]
    assert finding["what"].startswith(
        "the no-biology baseline (rarer gene) posing as a model: P(up | DE) ranks the"
    )
    assert "rank correlation +" in finding["what"]


def test_test_rows_with_training_genes_in_capitals(screened: Workspace) -> None:
    genes = sorted(set(SCREEN.train["gene"]))[:5]
    rows = pd.DataFrame(
        {
            "pert": "New0",
            "gene": [*(gene.upper() for gene in genes), *(f"Unlike{i}" for i in range(60))],
        }
    )
    rows.insert(0, "id", rows["pert"] + "_" + rows["gene"])
    bring(screened, as_file(rows), "more.csv", dataset="bmdm")
    found = audit(screened)
    [finding] = found["findings"]
    assert (finding["kind"], finding["name"]) == ("shared", "train and test")
    assert finding["what"].startswith("5 target genes shared, in another case: Gene0 = GENE0, ")
    assert finding["what"].endswith(" and 2 more")
    assert (found["shared_perts"], found["shared_genes"]) == (0, 5)


def test_aliases_are_leaks_and_paralogs_are_not(screened: Workspace) -> None:
    bring(
        screened,
        json.dumps({"Gene0": "ENSMUSP00000000001", "Other0": "ENSMUSP00000000001"}).encode(),
        "proteins.json",
    )
    bring(
        screened,
        json.dumps(
            {
                "Gene1": "HUMAN1",
                "Other1": "HUMAN1",
                "Other2": "HUMAN1",
                "Gene2": "HUMAN2",
                "Gene3": "HUMAN3",
            }
        ).encode(),
        "orthologs.json",
    )
    found = audit(screened)
    [finding] = found["findings"]
    assert finding["what"] == "1 target gene shared, under another name: Gene0 = Other0"
    [pair] = found["splits"]
    assert pair["paralogs"] == [
        {"role": "gene", "ortholog": "HUMAN1", "a": ["Gene1"], "b": ["Other1", "Other2"]}
    ]
    assert found["notes"] == []


def test_a_perturbqa_split_with_shared_genes(workspace: Workspace) -> None:
    """Both splits are labelled; sharing genes is how PerturbQA is made, sharing a perturbation is not."""
    rows = [
        (f"P{p}", f"G{g}", (p + g) % 2, "train" if p < 8 else "test")
        for p in range(10)
        for g in range(6)
    ]
    bring(workspace, cases.as_csv(["pert", "gene", "label", "split"], rows), "k562-de.csv")
    found = audit(workspace)
    assert (found["shared_perts"], found["shared_genes"], found["rarer_up_dir"]) == (0, 6, None)
    [finding] = found["findings"]
    assert finding["name"] == "train and test"
    assert finding["what"].startswith(
        "6 target genes shared by design (PerturbQA is split by perturbation): G0, "
    )
    bring(
        workspace,
        cases.as_csv(["pert", "gene", "label", "split"], [("P0", "G9", 1, "test")]),
        "k562-de.csv",
    )
    [perts, _] = audit(workspace)["findings"]
    assert perts["what"] == "1 perturbation shared: P0"


def test_few_rows_accuse_no_run(small_workspace: Workspace) -> None:
    """The small run ranks its three labelled rows perfectly, as chance often does."""
    assert audit(small_workspace)["findings"] == []


def test_splits_without_labels_are_compared_too(workspace: Workspace) -> None:
    bring(workspace, as_file(SCREEN.test), "test.csv")
    found = audit(workspace)
    assert (found["count_only_de"], found["counts"]["count_only_de"], found["splits"]) == (
        None,
        None,
        [],
    )


def test_an_input_that_cannot_be_read_is_said_so(screened: Workspace) -> None:
    descriptions = {f"Gene{g}": "A factor of many genes." for g in range(9)}
    bring(screened, json.dumps(descriptions).encode(), "pack.json")
    [file] = (screened.settings.data / "knowledge").glob("pack*")
    file.unlink()
    [pack] = [each for each in audit(screened)["inputs"] if each["kind"] == "text"]
    assert pack["remark"].startswith("cannot be read: ")


@pytest.mark.parametrize(
    "texts",
    [
        {"Gene0": "With Pert0 it goes up.", "Gene1": "Another factor of genes."},
        {"Gene0": ["Interferon signalling", "Death"]},
    ],
)
def test_packs_are_read_as_texts(screened: Workspace, texts: dict[str, Any]) -> None:
    bring(screened, json.dumps(texts).encode(), "pack.json")
    [pack] = [each for each in audit(screened)["inputs"] if each["kind"] == "text"]
    assert (pack["findings"], pack["remark"]) == ([], "")


def test_a_row_without_a_number_is_left_out_of_the_comparison_with_counts(
    screened: Workspace,
) -> None:
    """Ten rows predict neither up nor down, and have no P(up | DE); the others rank as counts do."""
    count = SCREEN.test.groupby("gene")["id"].transform("count").to_numpy()
    p_de = np.where(np.arange(len(count)) < 10, 0.0, noise(len(count)))
    predict(screened, "a model", SCREEN.test["id"], p_de, 0.9 / count)
    [finding] = audit(screened)["findings"]
    assert f"P(up | DE) ranks the {len(count) - 10:,} rows of test" in finding["what"]
