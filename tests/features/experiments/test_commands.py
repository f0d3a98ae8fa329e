"""The commands experiment list, plan, run and show on the scripted server, and what is wrong in one line."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.runs import launch
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from tests.commands import core, core_json
from tests.fakes.scripted import serving
from tests.features.experiments.test_file_runs import FUSED

ROWS = 6
WAIT_S = 60


Argued = tuple[Path, str]  # the folder of a workspace and the address of the server


@pytest.fixture
def argued(screen: Workspace) -> Iterator[Argued]:
    """The folder of a workspace with a small debate, and the server that answered."""
    with serving() as url:
        options = {"tools": "gene_class,base_rates", "rounds": 0}
        request = RunRequest(
            "debate",
            None,
            options,
            f"split=train;sample={ROWS}",
            "argued",
            "scripted",
            endpoint=url,
        )
        assert launch.start(screen, request).status == "done"
        yield screen.settings.workspace, url


def test_a_run_is_planned_asked_again_and_shown(argued: Argued) -> None:
    place, url = argued
    again = (
        "experiment",
        "plan",
        "tools",
        "argued",
        "--repeats",
        "1",
        "--endpoint",
        url,
        "--set",
        "tools=gene_class",
    )
    plan = core_json(place, *again)
    assert (plan["rows"], [arm["name"] for arm in plan["arms"]]) == (
        ROWS,
        ["every tool", "without gene_class"],
    )
    assert plan["arms"][0] == {
        "name": "every tool",
        "change": "",
        "runs": 2,
        "done": 1,
    }  # the run's own answers
    assert (plan["left"], plan["runs"][-1]["arm"]) == (2, "without gene_class")
    assert core_json(place, "experiment", "list")["experiments"] == []
    result = core_json(place, "experiment", "run", *again[2:])
    assert {"arms", "noise_floor", "verdict", "sentence", "caveats"} <= result.keys()
    assert {"name", "delta_de", "delta_dir", "delta_mean", "p_holm"} <= result["arms"][0].keys()
    [made] = core_json(place, "experiment", "list")["experiments"]
    assert (made["kind"], made["done"], made["runs"]) == ("tools", 3, 3)
    assert core_json(place, "experiment", "show", made["name"]) == result
    assert core_json(place, *again)["left"] == 0
    [line] = core_json(place, "ledger", "list")["hypotheses"]
    assert line["experiment"] == f"{made['name']} ({made['key']})"
    assert (line["name_b"], line["kind"]) == ("without gene_class", "result")


def test_an_option_of_the_method_is_changed_by_set(argued: Argued) -> None:
    place, url = argued
    plan = core_json(
        place, "experiment", "plan", "method", "argued", "--endpoint", url, "--set", "rounds=1"
    )
    assert [arm["change"] for arm in plan["arms"]] == ["", "rounds: 0 → 1"]


@pytest.mark.soak
def test_other_rows_of_a_run_have_entries_of_their_own(argued: Argued) -> None:
    place, url = argued
    again = (
        "tools",
        "argued",
        "--repeats",
        "1",
        "--endpoint",
        url,
        "--set",
        "tools=gene_class",
        "--rows",
    )
    plan = core_json(place, "experiment", "plan", *again, "sample=4")
    assert plan["left"] == 3
    [base] = [arm for arm in plan["arms"] if arm["name"] == "every tool"]
    assert (base["runs"], base["done"]) == (2, 0)  # the run's own answers are of other rows
    for n in (4, 5):
        core_json(place, "experiment", "run", *again, f"sample={n}")
    names = [line["name"] for line in core_json(place, "ledger", "list")["hypotheses"]]
    assert len(set(names)) == 2


@pytest.mark.soak
def test_one_that_is_detached_goes_on_by_itself(argued: Argued) -> None:
    place, url = argued
    again = ("seeds", "argued", "--repeats", "1", "--endpoint", url)
    plan = core_json(place, "experiment", "run", *again, "--detach")
    assert plan["left"] == 1
    since = time.monotonic()
    while core_json(place, "experiment", "plan", *again)["left"]:
        assert time.monotonic() - since < WAIT_S
        time.sleep(0.5)
    assert core(place, "experiment run support_strata --detach").status != 0


@pytest.mark.soak
def test_a_file_and_an_idea_are_made_and_shown(screen: Workspace, tmp_path: Path) -> None:
    place, file = screen.settings.workspace, tmp_path / "fused.toml"
    file.write_text(FUSED, "utf-8")
    result = core_json(place, "experiment", "run", str(file))
    assert (
        core_json(place, "experiment", "show", str(file))
        == core_json(place, "experiment show fused")
        == result
    )
    strata = core_json(place, "experiment run support_strata --set cuts=1")
    assert strata["kind"] == "support_strata"
    assert core(place, "experiment run support_strata --set cuts=1").out.startswith(
        strata["sentence"]
    )


def test_an_empty_workspace_has_every_kind(workspace: Workspace) -> None:
    listed = core_json(workspace, "experiment", "list")
    assert listed["experiments"] == []
    kinds = {kind["name"] for kind in listed["kinds"]}
    assert {"tools", "names", "seeds", "method", "dossier", "component", "file"} <= kinds


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("plan", "nothing"), "not known"),
        (("plan", "tools"), "run"),
        (("plan", "tools", "absent"), "absent"),
        (("plan", "tools", "llm train", "--set", "depth=3"), "--set depth=3"),
        (("plan", "support_strata", "llm train", "--repeats", "2"), "takes no --repeats"),
        (("show", "nothing"), "not in this workspace"),
        (("plan", "absent.toml"), "absent.toml"),
    ],
)
def test_what_is_wrong_is_one_line(screen: Workspace, words: tuple[str, ...], message: str) -> None:
    done = core(screen, "experiment", *words)
    assert (done.status, message in done.err, done.err.count("\n")) == (1, True, 1), done.err
