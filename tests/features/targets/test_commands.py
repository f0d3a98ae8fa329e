"""Commands targets: train, evaluate, table, delete, on a small simulated screen; ceilings of the published split."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import core, core_json
from tests.features.targets import cases

TRAIN = ("targets", "train", "--simulate", "--models", "fallen,fallen_trained", "--name", "small")


@pytest.fixture(autouse=True)
def _models() -> Iterator[None]:
    with cases.registered():
        yield


@pytest.mark.soak
def test_train_evaluate_table_list_and_delete(tmp_path: Path) -> None:
    made = core_json(tmp_path, *TRAIN)
    assert (made["name"], made["state"], made["models"]) == (
        "small",
        "done",
        ["fallen", "fallen_trained"],
    )
    assert made["split"]["kind"] == "hard"
    assert (made["unit"], made["mask"], made["pool"]) == ("condition", "none", "all genes")
    first = made["rows"][0]
    assert {
        "model",
        "metric",
        "k",
        "estimate",
        "low",
        "high",
        "random",
        "ceiling",
        "n",
        "conditions",
    } <= set(first)
    assert set(made["ceilings"]) == {"relevant", "recall", "exact"}
    scored = core_json(tmp_path, "targets evaluate --mask targets --unit cell")
    assert (scored["unit"], scored["mask"]) == ("cell", "targets")
    assert scored["rows"][0]["n"] > made["rows"][0]["n"]
    again = core_json(tmp_path, "targets", "table")
    assert again["rows"] == scored["rows"]
    assert len(again["published"]) == 64
    assert (again["name"], again["cells"]) == ("small", "simulated screen, seed 0")
    [listed] = core_json(tmp_path, "jobs list --all")["jobs"]
    assert (listed["kind"], listed["name"]) == ("targets", "small")
    text = core(tmp_path, "targets table --name small").out
    assert "Ceilings of models that rank only trained genes" in text
    assert core_json(tmp_path, "targets delete small") == {"deleted": "small"}
    assert core_json(tmp_path, "jobs list --all") == {"jobs": []}


@pytest.mark.soak
def test_another_split_than_the_trained_one_is_refused(tmp_path: Path) -> None:
    core_json(tmp_path, *TRAIN)
    split = {"train_conditions": ["A"], "val_conditions": ["B"], "test_conditions": ["C"]}
    (tmp_path / "split.json").write_text(json.dumps(split), "utf-8")
    done = core(tmp_path, "targets", "evaluate", "--split", str(tmp_path / "split.json"))
    assert done.status == 1
    assert "was trained on another split, hard, seed 0" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("targets", "train"), "expected either a file of cells or --simulate"),
        ((*TRAIN, "--set", "knn.k=3"), "--set knn.k: expected MODEL.KEY=VALUE"),
        ((*TRAIN, "--set", "fallen.loud=perhaps"), "expected true or false"),
        ((*TRAIN, "--split", "nowhere.json"), "nowhere.json: cannot be read"),
        (("targets", "evaluate", "--unit", "gene"), "unit: got 'gene', expected condition, cell"),
        (("targets", "evaluate", "--mask", "some"), "mask: got 'some'"),
        (("targets", "evaluate"), "which has none; try: perturbdesk targets train --simulate"),
        (("targets", "table", "--ceilings"), "expected --split FILE"),
    ],
)
def test_wrong_usage_is_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    done = core(tmp_path, *arguments)
    assert done.status == (2 if message.startswith(("unit", "mask")) else 1)  # none of the choices
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert not (tmp_path / "data" / "targets").exists()


def test_without_a_training_the_published_table_is_printed(tmp_path: Path) -> None:
    found = core_json(tmp_path, "targets", "table")
    assert found["rows"] == []
    assert len(found["not_comparable"]) == 3


@pytest.mark.parametrize("command", ["table", "evaluate"])
def test_ceilings_of_the_published_split(tmp_path: Path, shared_data: Path, command: str) -> None:
    split = shared_data / "norman" / "split_hard_seed42.json"
    if not split.is_file():
        pytest.skip(f"needs the published split {split}")
    found = core_json(tmp_path, "targets", command, "--split", str(split), "--ceilings")
    assert found["ceilings"] == {
        "relevant": {"1": "21/38"},
        "recall": {"1": "10.5/38", "2": "14/38"},
        "exact": {"1": "0/38", "2": "7/38"},
    }
