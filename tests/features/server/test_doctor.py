"""The state of an installation, whatever it is."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.base import log
from core.base.config import Settings
from core.base.errors import InputError
from core.features.server import doctor
from core.runs.workspace import Workspace
from tests import commands
from tests.fakes import scripted as scripted_server

KEYS = {
    "version",
    "commit",
    "python",
    "workspace",
    "store_mb",
    "lock",
    "endpoints",
    "disk_free_mb",
    "last_errors",
}
SECRET = "sk-0123456789"


@pytest.fixture(autouse=True)
def nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is asked that a developer may have running."""
    monkeypatch.setenv("PERTURBDESK_ENDPOINT", "http://127.0.0.1:9/v1")


@pytest.fixture
def silent_server() -> Iterator[str]:
    """The address of a server that accepts a connection and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


@pytest.mark.soak
def test_it_prints_what_the_contract_says(small_workspace: Workspace) -> None:
    folder = small_workspace.settings.workspace
    log.configure(small_workspace.settings, "app")
    log.record_error("page /rows", RuntimeError("no such thing"))
    log.close()
    commands.core(folder, "runs rename nothing x")  # a mistake, which was said where it was made
    found = commands.core_json(folder, "doctor")
    assert set(found) >= KEYS
    assert (found["workspace"], found["store"], found["lock"]) == (str(folder), "ok", None)
    assert found["store_mb"] > 0
    assert found["disk_free_mb"] > 0
    [line] = found["last_errors"]
    assert "page /rows: RuntimeError: no such thing" in line
    text = commands.core(folder, "doctor").out
    assert line in text


def test_an_empty_workspace_is_named_and_stays_empty(tmp_path: Path) -> None:
    done = commands.core(tmp_path / "new", "doctor")
    assert done.status == 0
    assert "none yet: the workspace is empty" in done.out
    assert not (tmp_path / "new").exists()
    assert commands.core_json(tmp_path / "new", "doctor")["store_mb"] is None


def test_a_damaged_store_is_named_and_left_as_it_is(small_workspace: Workspace) -> None:
    file = small_workspace.settings.store_file
    damaged = b"DUCKTALES" * 1000
    file.write_bytes(damaged)
    done = commands.core(small_workspace, "doctor")
    assert done.status == 0
    assert "StoreDamaged" in next(
        line for line in done.out.splitlines() if line.startswith("store ")
    )
    assert file.read_bytes() == damaged


def test_a_locked_store_is_named_with_who_holds_it(
    small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "PATIENCE_S", 0.2)
    with small_workspace.store.write():
        found = doctor.examine(small_workspace.settings)
    assert found.store == "busy"
    assert "held for more than 0.2 s by process" in found.lock


@pytest.mark.soak
def test_a_server_is_asked_for_its_models_alone(tmp_path: Path) -> None:
    asked = []
    script = scripted_server.Script(answer=lambda body: str(asked.append(body)))
    with scripted_server.serving(script) as address:
        [state] = doctor.examine(Settings(workspace=tmp_path, endpoint=address)).endpoints
    assert (state.url, state.reachable, list(state.models), state.problem) == (
        address,
        True,
        ["scripted"],
        "",
    )
    assert asked == []


def test_a_server_that_says_nothing_is_not_waited_for(
    tmp_path: Path, silent_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "PATIENCE_S", 0.2)
    [state] = doctor.examine(Settings(workspace=tmp_path, endpoint=silent_server)).endpoints
    assert not state.reachable
    assert state.problem


@pytest.mark.soak
def test_no_secret_is_told(small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = replace(small_workspace.settings, api_key=SECRET)
    log.configure(settings, "app")
    log.record_error("asking", InputError(f"refused {SECRET}"))
    log.close()
    monkeypatch.setenv("PERTURBDESK_API_KEY", SECRET)
    done = commands.core(settings.workspace, "doctor", "--json")
    assert "refused [key]" in json.loads(done.out)["last_errors"][-1]
    assert SECRET not in done.out + done.err
