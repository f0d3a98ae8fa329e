"""The commands behind `ablation`."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from core.actions.imports import ImportOptions, import_upload
from core.actions.workspace import Workspace
from core.config import REPOSITORY
from core.experiments.ablations.arms import COLUMNS
from core.experiments.ablations.base import ablations
from tests import cases, worlds
from tests.commands import core, core_json


def furnish(workspace: Workspace) -> None:
    """The small screen with runs, a space and a knowledge pack of each kind, about the screen's own symbols."""
    made = worlds.furnish(workspace)
    perts, genes = sorted(set(made.pert)), sorted(set(made.gene))
    symbols = [*perts, *genes]
    packs = {
        "signs": {"meta": {"source": "s"}, "pairs": {f"{p}|{g}": (-1) ** i for p in perts for i, g in enumerate(genes[:9])}},
        "edges": [[a, b, 900] for a, b in pairwise(symbols)],
        "pathways": {symbol: [f"Pathway {len(symbol) + i % 3}"] for i, symbol in enumerate(symbols)},
    }
    ids = made.ids[: made.n_train]
    import_upload(workspace, worlds.llm(ids, 2), "other.csv", ImportOptions(name="llm other"))
    import_upload(workspace, worlds.table_of({key: vector[::-1] for key, vector in made.vectors.items()}), "far.csv")
    numbers = cases.as_csv(["id", "deletion"], [[key, len(key) + i % 5] for i, key in enumerate(ids)])
    import_upload(workspace, numbers, "deletion.csv", ImportOptions(de="deletion"))
    for name, pack in packs.items():
        import_upload(workspace, json.dumps(pack).encode(), f"{name}.json")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return worlds.template(tmp_path_factory.mktemp("ablations"), furnish)


@pytest.mark.soak
def test_the_list_says_what_each_asks_and_lacks(place: Path, workspace: Workspace) -> None:
    found = core_json(place, "ablation", "list")["ablations"]
    assert [each["name"] for each in found] == list(ablations())
    assert all(each["question"].endswith("?") for each in found)
    import_upload(workspace, worlds.screen().files()["train.csv"], "train.csv")
    lacking = core_json(workspace.settings.workspace, "ablation", "list")["ablations"]
    assert any("a gene space" in one for each in lacking for one in each["missing"])


@pytest.mark.few(2)
@pytest.mark.parametrize("name", list(ablations()))
def test_every_ablation_gives_a_table_and_a_sentence_or_says_what_it_lacks(place: Path, name: str) -> None:
    quick = {"cuts": "2", "epochs": "1"}
    known = {option.name for option in ablations()[name].options}
    settings = [word for key, value in quick.items() if key in known for word in ("--set", f"{key}={value}")]
    done = core(place, "ablation", "run", name, *settings, "--json")
    if done.status:
        assert f"ablation {name}: needs" in done.err
        assert name in ("rounds", "judges", "seed_ensembles")
        return
    found = json.loads(done.out)
    assert set(found) == {"name", "dataset", "table", "sentence", "remarks", "details", "seconds"}
    assert found["sentence"].endswith(".")
    assert found["table"], found["sentence"]
    assert all(set(row) == set(COLUMNS) for row in found["table"])


def test_what_cannot_be_is_one_line(place: Path) -> None:
    for arguments, words in (
        (("swap",), "ablation 'swap': not known, expected one of"),
        (("support_strata", "--set", "spaces=off"), "gene space 'off': not here, expected one of near, far"),
        (("support_strata", "--set", "cuts=99"), "cuts: got 99, expected 1 to 10"),
    ):
        done = core(place, "ablation", "run", *arguments)
        assert (done.status, done.out) == (1, "")
        assert words in done.err


def test_the_documents_list_every_ablation() -> None:
    text = (REPOSITORY / "docs" / "statistics.md").read_text("utf-8").partition("## Ready ablations")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == list(ablations())


def test_runs_that_differ_in_one_option_are_named_or_said_to_be_missing(place: Path) -> None:
    missing = core(place, "ablation", "run", "rounds")
    assert missing.status == 1
    assert "ablation rounds: needs two runs on the same labelled rows that differ only in rounds" in missing.err
    listed = {each["name"]: each["missing"] for each in core_json(place, "ablation", "list")["ablations"]}
    assert "perturbdesk run debate" in listed["rounds"][0]
    assert listed["program_priors"] == []
    found = core_json(place, "ablation", "run", "rounds", "--set", "runs=llm train,llm other")
    assert {row["arm"] for row in found["table"]} == {"llm train", "llm other"}
    twice = core(place, "ablation", "run", "rounds", "--set", "runs=llm train,llm train")
    assert "each once" in twice.err
