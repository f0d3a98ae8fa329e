"""Several model servers of a request: what each can do, which differ, and what starts no run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from core.actions import launch, model_servers, run_control
from core.engine.request import RunRequest
from core.engine.run_folder import RunFolder
from core.engine.spec import ExecutionSettings
from core.errors import InputError, Unreachable
from core.llm.scripted_server import MODEL, Script, serving
from core.methods.base import method_named
from core.store import runs
from tests import commands
from tests.engine.cases import workspace_with

NOBODY = "http://127.0.0.1:9/v1"


def test_servers_that_differ_or_are_silent_are_named(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 3)
    with serving() as one, serving() as two, serving(Script(logprobs="left out")) as other:
        found = asyncio.run(model_servers.check_each(workspace, f"{one},{two},{other},{NOBODY}"))
        assert list(found) == [one, two, other, NOBODY]
        assert [health.problem == "" for health in found.values()] == [True, True, False, False]
        assert found[other].problem == f"{other}: gives no log-probabilities, but {one} gives log-probabilities"
        together = model_servers.combine(found)
        assert (together.reachable, together.models, together.logprobs) == (True, (MODEL,), True)
        assert {other, NOBODY} <= {word.rstrip(":") for word in together.problem.split()}
        assert model_servers.refuse_unfit(workspace, f"{NOBODY},{one}", MODEL) == one  # the other may come later
        request = RunRequest("prompt_only", "bmdm", rows="split=test", endpoint=f"{one},{other}")
        with pytest.raises(InputError, match=f"{other}: gives no log-probabilities.*expected the same model and limits"):
            launch.start(workspace, request)
        with pytest.raises(Unreachable, match="'nothing-like-it' is not served, expected one of scripted"):
            model_servers.refuse_unfit(workspace, f"{one},{two}", "nothing-like-it")
    with pytest.raises(Unreachable, match="none of 2 model servers can be used"):
        model_servers.refuse_unfit(workspace, f"{NOBODY},http://127.0.0.1:7/v1", MODEL)
    with workspace.store.read() as db:
        assert runs.list_all(db) == []


def test_settings_hold_addresses_as_they_are_read_and_files_by_their_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = workspace_with(tmp_path / "desk", 3)
    (tmp_path / "servers.txt").write_text(f"{NOBODY}\n")
    monkeypatch.chdir(tmp_path)
    method = method_named("prompt_only")
    for given, held in (
        ("servers.txt", str(tmp_path / "servers.txt")),
        (f"{NOBODY}, http://a/v1/", f"{NOBODY},http://a/v1"),
        (NOBODY, NOBODY),
    ):
        settings = launch.execution_settings(workspace, RunRequest("prompt_only", endpoint=given), method)
        assert (settings.servers, settings.has_several) == (held, given != NOBODY)
    (tmp_path / "how.json").write_text(f'{{"base_url": "{NOBODY}"}}')  # as older versions wrote it
    assert RunFolder(tmp_path).execution_settings() == ExecutionSettings(NOBODY)
    with pytest.raises(InputError, match="expected one such as http"):
        launch.execution_settings(workspace, RunRequest("prompt_only", endpoint="no-such-file"), method)


def test_the_commands_show_each_server(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 6)
    with serving() as one, serving() as two:
        (tmp_path / "servers.txt").write_text(f"{one}\n{two}\n")
        file = str(tmp_path / "servers.txt")
        health = commands.core_json(tmp_path, "endpoint", "--endpoint", file)
        options = ("--dataset", "bmdm", "--rows", "split=test", "--set", "seeds=42", "--endpoint", file, "--name", "both")
        made = commands.core_json(tmp_path, "run", "prompt_only", *options)
        log = commands.core(tmp_path, "log", "both").out
    assert [(each["address"], each["problem"]) for each in health["servers"]] == [(one, ""), (two, "")]
    assert (health["reachable"], health["models"], health["logprobs"]) == (True, [MODEL], True)
    assert (made["status"], made["done"], made["notice"]) == ("done", 6, "")
    assert {each["address"]: each["done"] for each in made["servers"]}.keys() == {one, two}
    assert sum(each["done"] for each in made["servers"]) == 6
    assert f"  {one}: " in log
    assert run_control.settings_of(workspace, "both").servers == file
