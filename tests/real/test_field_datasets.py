"""Files of the field become the dataset that their README says is right."""

from __future__ import annotations

import csv
import gzip
import random
from pathlib import Path

import pytest

from core.features.importing import dataset_choice
from core.features.importing.actions import import_paths, import_upload
from core.runs.workspace import Workspace
from core.store import datasets
from tests import cases
from tests.real.conftest import FIELD, needs_field


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


@needs_field
@pytest.mark.parametrize("beside", [True, False])
def test_own_labels_are_no_mouse_macrophages(
    workspace: Workspace, shared_data: Path, beside: bool
) -> None:
    files = [shared_data / "challenge" / "train.csv"] * beside
    *_, outcome = import_paths(workspace, [*files, *FIELD.glob("data/b02_*/*.csv")])
    assert (outcome.name, outcome.rows) == ("my_k562_labels", 60)
    with workspace.store.read() as db:
        assert datasets.find(db, "my_k562_labels").organism == "human"
        assert [d.name for d in datasets.list_all(db)] == ["bmdm"] * beside + ["my_k562_labels"]


def test_the_challenge_is_known_by_its_ids_in_any_form(
    workspace: Workspace, shared_data: Path
) -> None:
    """Train and test share no perturbation and no target gene, so nothing but ids tells."""
    train, test = (rows_of(shared_data / "challenge" / f"{name}.csv") for name in ("train", "test"))
    assert {
        dataset_choice.digest_of([row["id"] for row in rows])
        for rows in (train, test, train + test)
    } == dataset_choice.IDS
    random.Random(1).shuffle(test)
    content = cases.as_csv(
        ["gene", "id", "pert"], [[row["gene"], row["id"], row["pert"]] for row in test]
    )
    assert import_upload(workspace, gzip.compress(content), "anything.csv.gz").name == "bmdm"
    table = cases.as_csv(
        ["pert", "gene", "label"], [[row["pert"], row["gene"], row["label"]] for row in train]
    )
    assert import_upload(workspace, table, "labels of mine.csv").name == "bmdm"
    some = cases.as_csv(
        ["id", "pert", "gene"], [[row["id"], row["pert"], row["gene"]] for row in test[:20]]
    )
    assert import_upload(workspace, some, "a part.csv").name == "bmdm"
