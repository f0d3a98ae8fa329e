"""Whatever a person names, and wherever: a key goes to its own address alone, and a shared server asks listed ones alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from core.base.errors import AddressRefused, DeskError
from core.features.arguments import readings
from core.features.arguments.readings import ReadingSettings
from core.features.arguments.rubric import Rubric
from core.features.asking import actions as ask
from core.features.asking.askings import AgainRequest, plan_again
from core.features.asking.question import SCRIPTED, Question
from core.features.experiments import engine
from core.features.experiments.kinds.shown import ToolsSettings
from core.features.importing.actions import import_upload
from core.features.neighbours import spaces
from core.runs import launch, model_servers, run_control
from core.runs.jobs.folder import log_tail
from core.runs.request import RunRequest
from core.runs.spec import ExecutionSettings
from core.runs.workspace import Workspace, open_workspace
from core.store import runs
from tests import commands, worlds
from tests.asked_again import make_all
from tests.fakes.http_server import ReceivedRequest, Response, serve_in_thread
from tests.fakes.scripted import Script, ScriptedModel
from tests.runs.cases import fast, status, wish, workspace_with
from tests.runs.methods import Asking, here

KEY = "sk-of-the-lab-0123456789"
SHARED = {"base_url": "https://desk.example.org"}
RUBRIC = Rubric("names-a-program", "Does the brief name a program?")


@dataclass
class Listener:
    """A model server that notes the keys it is sent."""

    url: str = ""
    keys: list[str | None] = field(default_factory=list)


@contextmanager
def listening(script: Script | None = None) -> Iterator[Listener]:
    found, model = Listener(), ScriptedModel(script or Script())

    async def answer(request: ReceivedRequest, reader: asyncio.StreamReader) -> Response | None:
        found.keys.append(request.headers.get("authorization"))
        return await model.answer(request, reader)

    with serve_in_thread(answer, "listener") as address:
        found.url = f"{address}/v1"
        yield found


@pytest.fixture
def stranger() -> Iterator[Listener]:
    with listening() as found:
        yield found


def with_key(workspace: Workspace, **more: object) -> Workspace:
    """The workspace of a server whose key belongs to another address."""
    return open_workspace(
        replace(workspace.settings, endpoint="http://127.0.0.1:9/v1", api_key=KEY, **more)
    )  # type: ignore[arg-type]


def _embed(workspace: Workspace, url: str) -> object:
    kept = open_workspace(replace(workspace.settings, base_url=""))
    assert (
        import_upload(kept, worlds.pack("descriptions"), "descriptions.json").kind == "descriptions"
    )
    return spaces.embed(workspace, "endpoint", "e", {"base_url": url, "model": "m"})


# How a person may name a server, each as a page and a command do.
PATHS = {
    "endpoint check": lambda w, url: asyncio.run(launch.health(w, url)),
    "endpoint check of several": lambda w, url: asyncio.run(
        model_servers.check_each(w, f"{url},http://127.0.0.1:9/v1")
    ),
    "run": lambda w, url: launch.start(
        w, RunRequest("prompt_only", "bmdm", rows="split=test", endpoint=url, name="r")
    ),
    "run with a model": lambda w, url: launch.start(
        w,
        RunRequest(
            "prompt_only", "bmdm", rows="split=test", endpoint=url, model="scripted", name="r"
        ),
    ),
    "ask": lambda w, url: ask.ask(
        w, Question("Pa", "Ga", "prompt_only", "bmdm", url), begin=run_control.work_on
    ),
    "ask a model": lambda w, url: ask.ask(
        w, Question("Pa", "Ga", "prompt_only", "bmdm", url, "scripted"), begin=run_control.work_on
    ),
    "reading": lambda w, url: readings.plan_reading(
        w, RUBRIC, "debate", ReadingSettings(endpoint=url)
    ),
    "embed": lambda w, url: _embed(w, url),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("path", PATHS)
def test_a_shared_server_asks_nobody_else(
    small_workspace: Workspace, stranger: Listener, path: str
) -> None:
    with pytest.raises(AddressRefused, match="PERTURBDESK_ENDPOINTS"):
        PATHS[path](with_key(small_workspace, **SHARED), stranger.url)
    assert stranger.keys == []
    with small_workspace.store.read() as db:
        assert [run.name for run in runs.list_all(db)] == ["debate"]


@pytest.mark.few(1)
@pytest.mark.parametrize("path", PATHS)
def test_a_stranger_gets_no_key_on_a_machine_of_ones_own(
    small_workspace: Workspace, stranger: Listener, path: str
) -> None:
    try:
        PATHS[path](with_key(small_workspace), stranger.url)
    except DeskError:  # a scripted server gives no embeddings
        assert path in ("embed", "endpoint check of several")
    assert stranger.keys
    assert set(stranger.keys) == {None}


@pytest.mark.soak
def test_who_is_listed_gets_the_key_and_may_be_asked(
    small_workspace: Workspace, stranger: Listener
) -> None:
    shared = with_key(small_workspace, endpoints=(stranger.url,), **SHARED)
    run = PATHS["run"](shared, stranger.url)
    assert isinstance(run, runs.Run)
    assert run.status == "done"
    assert set(stranger.keys) == {f"Bearer {KEY}"}


@pytest.mark.soak
def test_a_run_that_was_started_elsewhere_does_not_go_on_there(
    tmp_path: Path, stranger: Listener
) -> None:
    own = with_key(workspace_with(tmp_path, 3))
    run = run_control.start(
        own, wish(own, Asking(), model="scripted"), "r", fast(stranger.url), begin=lambda *_: None
    )
    shared = open_workspace(replace(own.settings, **SHARED))  # type: ignore[arg-type]
    folder = shared.run_folder(run.id)
    folder.set_command("cancel")
    run_control.cancel(own, run.id)
    for again in (run_control.resume, run_control.retry):
        for how in (None, ExecutionSettings(f"{stranger.url},http://127.0.0.1:9/v1")):
            with pytest.raises(AddressRefused):
                again(shared, run.id, settings=how, begin=run_control.work_on)
    folder.set_command("run")
    run_control.work_on(
        shared, run.id, method=here(Asking()).keywords["method"]
    )  # the worker reads how.json by itself
    assert status(shared, run).state == "stopped"
    assert "PERTURBDESK_ENDPOINTS" in status(shared, run).cause
    assert stranger.keys == []


def test_a_file_that_changed_before_the_worker_brings_in_no_stranger(
    tmp_path: Path, stranger: Listener
) -> None:
    file = tmp_path / "servers.txt"
    with listening(Script(delay_s=0.1)) as listed:
        file.write_text(f"{listed.url}\n")
        workspace = with_key(
            workspace_with(tmp_path / "desk", 12), endpoints=(listed.url,), **SHARED
        )

        def begin(workspace, run):
            file.write_text(f"{listed.url}\n{stranger.url}\n")
            here(Asking())(workspace, run)

        how = fast(str(file), rows_in_flight=2, concurrency=2, timeout_s=10.0)
        run = run_control.start(
            workspace, wish(workspace, Asking(), model="scripted"), "r", how, begin=begin
        )
        assert run.status == "stopped"
        assert f"{stranger.url}: is not among the model servers" in status(workspace, run).cause
        file.write_text(f"{stranger.url}\n{listed.url}\n")
        with pytest.raises(AddressRefused, match=stranger.url):
            run_control.start(
                workspace,
                wish(workspace, Asking(), model="scripted", labels="blinded"),
                "s",
                how,
                begin=here(Asking()),
            )
    assert stranger.keys == []
    assert any(
        "PERTURBDESK_ENDPOINTS" in line for line in log_tail(workspace.run_folder(run.id), 50)
    )


@pytest.mark.soak
def test_runs_asked_again_ask_no_stranger(small_workspace: Workspace, stranger: Listener) -> None:
    own = with_key(small_workspace, endpoints=(stranger.url,))
    request = RunRequest(
        "debate", "bmdm", {"rounds": 0}, "split=train", "argued", "scripted", endpoint=stranger.url
    )
    run = launch.start(own, request)
    assert run.status == "done"
    shared = with_key(small_workspace, **SHARED)
    with small_workspace.store.read() as db:
        row = runs.find(db, run.id) and "Pa_Ga"
    stranger.keys.clear()
    plan = plan_again(shared, AgainRequest(run.id, row, endpoint=stranger.url, repeats=5))
    with pytest.raises(AddressRefused):
        make_all(shared, plan)
    tools = engine.plan(
        shared, "tools", ToolsSettings(run=run.id, repeats=2, endpoint=stranger.url)
    )
    with pytest.raises(AddressRefused):
        engine.run(shared, tools)
    assert stranger.keys == []


@pytest.mark.soak
def test_no_cluster_of_a_stranger_is_joined(small_workspace: Workspace) -> None:
    shared = with_key(small_workspace, **SHARED)
    request = RunRequest(
        "prompt_only",
        "bmdm",
        rows="split=test",
        model="m",
        backend="ray",
        ray_address="127.0.0.1:6379",
    )
    with pytest.raises(AddressRefused, match="PERTURBDESK_RAY_ADDRESSES"):
        launch.start(shared, request)


@pytest.mark.soak
def test_the_simulated_server_is_this_servers_own(small_workspace: Workspace) -> None:
    shared = with_key(small_workspace, **SHARED)
    question = Question("Pa", "Ga", "prompt_only", "bmdm", SCRIPTED, SCRIPTED)
    assert ask.ask(shared, question, begin=run_control.work_on).run.status == "done"


def test_a_refusal_for_the_lack_of_a_key_says_where_it_belongs(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERTURBDESK_API_KEY", KEY)
    with listening(Script(api_key=KEY)) as server:
        done = commands.core(workspace, "endpoint", "--endpoint", server.url)
        assert "HTTP 401" in done.out + done.err
        assert (
            "this address has no key: give it one in PERTURBDESK_API_KEYS, or add it to PERTURBDESK_ENDPOINTS"
            in done.out + done.err
        )
        assert set(server.keys) == {None}
        monkeypatch.setenv("PERTURBDESK_ENDPOINTS", server.url)
        assert commands.core(workspace, "endpoint", "--endpoint", server.url).status == 0
        monkeypatch.delenv("PERTURBDESK_ENDPOINTS")
        monkeypatch.setenv("PERTURBDESK_API_KEYS", f"{server.url}={KEY}")
        monkeypatch.setenv("PERTURBDESK_API_KEY", "sk-of-somebody-else")
        assert commands.core(workspace, "endpoint", "--endpoint", server.url).status == 0
    assert KEY not in done.out + done.err
