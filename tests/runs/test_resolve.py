"""What a person asks for, as a specification: options, rows, and what the workspace has at that time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from annotated_types import Ge, Le

from core.base.errors import InputError, NotFound, SettingError
from core.base.fields.setting import setting
from core.llm.call_settings import CallSettings
from core.runs import launch
from core.runs.request import RunRequest
from core.runs.spec import RunSpec
from core.runs.workspace import Workspace
from tests.runs.cases import workspace_with
from tests.runs.methods import Counting


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_with(tmp_path / "workspace", 8)


def specify(
    workspace: Workspace, method: Counting, options: dict[str, object], **more: Any
) -> RunSpec:
    request = RunRequest(method.name, options=options, **more)
    return launch.resolve(workspace, request, method=lambda _: method)


@dataclass(frozen=True)
class Rounds:
    rounds: Annotated[int, Ge(0), Le(2), setting("How many.")] = 1
    context: Annotated[str, setting("")] = "kit"


@pytest.mark.soak
def test_what_a_person_asks_for_is_specified(workspace: Workspace) -> None:
    method = Counting(settings=Rounds)
    spec = specify(
        workspace, method, {"rounds": "2"}, rows="split=test;sample=3", model="m", seed=4, repeat=1
    )
    assert (
        dict(spec.options),
        spec.context,
        len(spec.rows),
        spec.model,
        spec.seed,
        spec.repeat,
    ) == (
        {"rounds": 2, "context": "kit"},
        "kit",
        3,
        "m",
        4,
        1,
    )
    assert spec == specify(
        workspace,
        method,
        {"rounds": 2},
        rows="sample=3;split=test",
        dataset="bmdm",
        model="m",
        seed=4,
        repeat=1,
    )
    with pytest.raises(InputError, match="rounds: got '3'"):
        specify(workspace, method, {"rounds": "3"})
    with pytest.raises(NotFound, match="dataset 'x'"):
        specify(workspace, method, {}, dataset="x")


def test_an_answer_by_schema_is_a_part_of_the_identity_and_without_one_runs_keep_theirs(
    workspace: Workspace,
) -> None:
    usual, off, on = (
        launch.resolve(workspace, RunRequest("prompt_only", options=options, model="m"))
        for options in ({}, {"structured": "no"}, {"structured": "yes"})
    )
    assert usual == off
    assert "structured" not in usual.options
    assert on.options == {**usual.options, "structured": True}
    assert on.key != usual.key


@pytest.mark.parametrize(
    ("method", "added"),
    [("debate", {"judge_de": "numeric"}), ("coordinator", {"specialist_steps": 4})],
)
def test_an_option_that_came_later_counts_only_where_it_is_chosen(
    workspace: Workspace, method: str, added: dict[str, object]
) -> None:
    if method == "coordinator":
        pytest.importorskip("dspy")
    usual, chosen = (
        launch.resolve(
            workspace, RunRequest(method, options=options, model="m", endpoint="http://nowhere/v1")
        )
        for options in ({}, added)
    )
    assert not added.keys() & usual.options.keys()
    assert chosen.options == {**usual.options, **added}
    assert chosen.key != usual.key


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"options": {"shots": "x"}}, "shots: got 'x', expected a whole number"),
        ({"rows": "sampel=0"}, "rows: got 'sampel=0' in 'sampel=0'"),
        ({"rows": "sample=0"}, "sample: got .0., expected"),
    ],
)
def test_what_was_typed_is_read_before_a_server_is_asked_for_its_model(
    workspace: Workspace, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        launch.resolve(workspace, RunRequest("debate", endpoint="http://127.0.0.1:9/v1", **more))


def test_a_setting_of_calls_is_refused_by_its_name_where_nothing_is_asked(
    workspace: Workspace,
) -> None:
    with pytest.raises(
        SettingError,
        match=r"temperature: got 0\.3, which has no effect on evidence_rules; expected none",
    ):
        launch.resolve(workspace, RunRequest("evidence_rules", calls=CallSettings(temperature=0.3)))
