"""The command rubric, in this process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.features.arguments import readings
from core.features.arguments.commands import progress_line
from core.features.arguments.rubric import Rubric
from core.runs.workspace import Workspace
from core.store import runs
from tests.commands import core, core_json


def test_rubrics_are_listed_added_and_answered(small_workspace: Workspace, tmp_path: Path) -> None:
    place = small_workspace.settings.workspace
    (tmp_path / "r.toml").write_text(
        'name = "programs"\nquestion = "Is a program named?"\npattern = "PROGRAM"\n', "utf-8"
    )
    (tmp_path / "m.toml").write_text(
        'name = "mechanism"\nquestion = "Is a mechanism named?"\n', "utf-8"
    )
    assert core_json(place, "rubric", "add", str(tmp_path / "r.toml"))["judge"] == "rule"
    assert core_json(place, "rubric", "add", str(tmp_path / "m.toml"))["judge"] == "model"
    listed = {each["name"]: each for each in core_json(place, "rubric", "list")["rubrics"]}
    assert (
        listed["short"].items()
        >= {
            "name": "short",
            "question": "Is the brief shorter than 120 characters?",
            "judge": "rule",
            "unit": "brief",
            "answers": ["yes", "no"],
            "roles": [],
            "stages": [],
            "built_in": True,
            "pattern": "",
        }.items()
    )
    assert list(listed)[-2:] == ["programs", "mechanism"]
    found = core_json(place, "rubric run programs debate")
    assert (found["rubric"], found["run"], found["judge"]) == ("programs", "debate", "rule")
    # Three rows of four briefs each, in which UP says something else once.
    assert {role: (of["n"], of["yes"]) for role, of in found["roles"].items()} == {
        **{"EFFECT": (3, 3), "NULL": (3, 3), "UP": (3, 2), "DOWN": (3, 3)},
        "all": (12, 11),
    }
    assert found["roles"]["UP"]["rate"]["estimate"] == pytest.approx(2 / 3)
    assert found["roles"]["UP"]["answers"] == {"yes": 2, "no": 1}
    printed = core(place, "rubric run short debate --judge rule").out.splitlines()
    assert printed[0].startswith(
        "Is the brief shorter than 120 characters? “yes” in 1 of 12 texts: 0.083"
    )
    assert ["all", "12", "12", "1", "0.083"] in [line.split()[:5] for line in printed]


def test_what_is_not_there_or_cannot_be_is_said(small_workspace: Workspace, tmp_path: Path) -> None:
    place = small_workspace.settings.workspace
    (tmp_path / "m.toml").write_text(
        'name = "mechanism"\nquestion = "Is a mechanism named?"\n', "utf-8"
    )
    core_json(place, "rubric", "add", str(tmp_path / "m.toml"))
    for arguments, expected in (
        (("run", "long", "debate"), "rubric 'long': not known"),
        (("run", "short", "nowhere"), "run 'nowhere': not in this workspace"),
        (("run", "mechanism", "debate", "--judge", "rule"), "neither rule nor pattern"),
        (("add", str(tmp_path / "none.toml")), "none.toml"),
    ):
        done = core(place, "rubric", *arguments)
        assert (done.status, done.out) == (1, ""), arguments
        assert expected in done.err
    assert core(place, "rubric run short debate --endpoint http://127.0.0.1:9/v1").status == 2


def test_what_ended_early_says_how_it_goes_on(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        run = replace(runs.find(db, "debate"), name="a reading", id="abc", done=1200)
    assert (
        progress_line(replace(run, status="running")) == "a reading (abc): running, 1,200 rows done"
    )
    assert progress_line(replace(run, status="crashed")) == (
        "a reading (abc): crashed, 1,200 rows done; `perturbdesk jobs resume 'a reading'` continues"
        " it"
    )


MEASURES = {"hit_rate", "de", "dir"}


@pytest.fixture
def asked(small_workspace: Workspace) -> Workspace:
    """The small debate, and a rubric that a pattern answers."""
    readings.add_rubric(
        small_workspace, Rubric("program", "Does it name a program?", pattern="shared program")
    )
    return small_workspace


@pytest.mark.soak
def test_rates_and_worth_of_a_pattern(asked: Workspace) -> None:
    place = asked.settings.workspace
    rates = core_json(place, "rubric rate program debate")
    assert rates["judge"] == "rule"
    whole = rates["roles"]["all"]
    assert {"n", "yes", "rate", "corrected", "labels"} <= set(whole)
    assert (
        whole["n"],
        whole["yes"],
        whole["labels"],
        whole["corrected"],
        whole["missing_labels"],
    ) == (12, 11, 0, None, 0)
    assert rates["roles"]["UP"]["rate"]["estimate"] == pytest.approx(2 / 3)
    other = core_json(place, "rubric rate program debate --answer no")
    assert other["roles"]["all"]["yes"] == 1
    worth = core_json(place, "rubric worth program debate")
    assert (worth["yes"]["n"], worth["no"]["n"], worth["rubrics"][0]["unread"]) == (3, 0, 1)
    assert set(worth["delta"]) == set(worth["p_holm"]) == MEASURES
    assert len(core_json(place, "rubric worth program,genes debate")["rubrics"]) == 2
    text = core(place, "rubric rate program debate").out
    assert ["all", "12", "12", "11", "0.917"] in [line.split()[:5] for line in text.splitlines()]
    assert "labels missing" not in text  # a pattern has no error rate
