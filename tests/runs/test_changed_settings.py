"""A run goes on elsewhere, with more tokens or other concurrency: from the action, the command and the page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import pytest

from core.base.errors import DeskError, InputError, StateError, Unreachable
from core.runs import run_control
from core.runs.model_servers import ChangedSettings, change_settings
from core.runs.spec import ExecutionSettings
from core.runs.workspace import Workspace
from core.store.runs import Run
from tests import commands
from tests.fakes.http_server import ReceivedRequest, ServerResponse, json_response, serve_in_thread
from tests.fakes.scripted import request_counts, serving
from tests.runs.cases import fast, recorded, run_here, wish, workspace_with
from tests.runs.methods import Asking, Counting, here

NOWHERE = "http://127.0.0.1:9/v1"
ASKING = Asking()


@contextmanager
def serving_another_model() -> Iterator[str]:
    """A server that lists a model of another name."""

    async def answer(_request: ReceivedRequest, _reader: object) -> ServerResponse:
        return json_response(
            200, {"object": "list", "data": [{"id": "another", "object": "model"}]}
        )

    with serve_in_thread(answer, "another") as address:
        yield f"{address}/v1"


def test_what_is_changed_is_what_a_run_is_carried_out_with() -> None:
    changed = ChangedSettings(**{field.name: 1 for field in fields(ChangedSettings)}).values()
    assert set(changed) <= {field.name for field in fields(ExecutionSettings)}


def stopped_run(folder: Path) -> tuple[Workspace, Run]:
    """A run of 20 rows whose server was gone before its first answer."""
    workspace = workspace_with(folder, 20)
    spec = wish(workspace, ASKING, model="scripted")
    run = run_control.start(workspace, spec, "r", fast(NOWHERE, concurrency=4), begin=here(ASKING))
    assert (run.status, run.done) == ("stopped", 0)
    return workspace, run


def budget_run(folder: Path, url: str) -> tuple[Workspace, Run]:
    """A run of 20 rows that has spent its 500 tokens."""
    workspace = workspace_with(folder, 20)
    spec = wish(workspace, ASKING, model="scripted")
    run = run_control.start(
        workspace, spec, "r", fast(url, rows_in_flight=2, token_budget=500), begin=here(ASKING)
    )
    assert (run.status, 0 < run.done < 20) == ("budget", True)
    return workspace, run


def go_on(workspace: Workspace, run: Run, **changes: object) -> Run:
    settings = change_settings(run_control.settings_of(workspace, run.id), **changes)
    return run_control.resume(workspace, run.id, settings=settings, begin=here(ASKING))


@pytest.mark.soak
def test_a_run_whose_server_died_goes_on_at_another_and_stays_the_same_run(tmp_path: Path) -> None:
    workspace, run = stopped_run(tmp_path)
    with serving() as url:
        ended = go_on(workspace, run, servers=url, concurrency=3)
        assert request_counts(url)["most at once"] <= 3
    assert (ended.id, ended.status, ended.done) == (run.id, "done", 20)
    kept = run_control.settings_of(workspace, "r")
    assert (kept.servers, kept.concurrency, kept.rows_in_flight, kept.timeout_s) == (
        url,
        3,
        3,
        fast().timeout_s,
    )


@pytest.mark.soak
def test_a_run_whose_budget_is_spent_goes_on_with_more(tmp_path: Path) -> None:
    with serving() as url:
        workspace, run = budget_run(tmp_path, url)
        spent = recorded(workspace, run).spent_tokens
        with pytest.raises(
            InputError,
            match=f"token budget: got 501, but {spent} tokens are spent already; expected more",
        ):
            go_on(workspace, run, token_budget=501)
        assert go_on(workspace, run, token_budget=100_000).status == "done"
    assert run_control.settings_of(workspace, "r").token_budget == 100_000


def test_the_model_has_to_be_the_runs_own(tmp_path: Path) -> None:
    workspace, run = stopped_run(tmp_path)
    with serving_another_model() as url, pytest.raises(InputError) as raised:
        go_on(workspace, run, servers=url)
    assert str(raised.value) == f"{url}: does not serve 'scripted', the run's model, but another"
    assert (
        run_control.settings_of(workspace, "r").servers == NOWHERE
    )  # what was refused is not kept


@pytest.mark.soak
@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"servers": "http://127.0.0.1:7/v1"}, Unreachable, "http://127.0.0.1:7/v1: "),
        ({"servers": "ftp://x"}, InputError, "endpoint: "),
        ({"token_budget": 0}, InputError, "settings of a run cannot be read: token_budget is 0"),
        ({"concurrency": 0}, InputError, "settings of a run cannot be read: concurrency is 0"),
    ],
)
def test_settings_are_checked_as_at_the_start(
    tmp_path: Path, changes: dict[str, object], error: type[DeskError], words: str
) -> None:
    workspace, run = stopped_run(tmp_path)
    with pytest.raises(error, match=words) as raised:
        go_on(workspace, run, **changes)
    if error is InputError:
        with pytest.raises(InputError) as at_the_start:
            change_settings(ExecutionSettings(NOWHERE), **changes)
        assert str(raised.value) == str(at_the_start.value)


def test_a_run_without_a_model_has_no_server(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 4)
    method = Counting(fails=frozenset({"Qb0_Hb0"}))
    run_here(workspace, method)
    with pytest.raises(InputError, match="its method uses no model, expected no model server"):
        run_control.retry(workspace, "r", settings=fast(NOWHERE), begin=here(method))


def test_a_living_worker_keeps_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, run = stopped_run(tmp_path)
    monkeypatch.setattr(
        run_control, "status_of", lambda _: run_control.Status("paused", 20, run_control.Counts())
    )
    with pytest.raises(
        StateError, match="its worker cannot change settings; cancel the run, then resume it"
    ):
        go_on(workspace, run, token_budget=9)


@pytest.mark.soak
def test_a_stopped_run_that_is_asked_for_again_elsewhere_says_the_command_that_does_so(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "workspace"
    workspace_with(folder, 2)
    request = (
        "run",
        "prompt_only",
        "--dataset",
        "bmdm",
        "--model",
        "scripted",
        "--rows",
        "split=test",
        "--set",
        "seeds=42",
    )
    with serving() as gone:
        pass
    assert commands.core(folder, *request, "--name", "first", "--endpoint", gone).status == 1
    with serving() as url:
        again = commands.core(folder, *request, "--name", "second", "--endpoint", url)
        assert again.status == 1
        told = re.search(r"`perturbdesk (jobs resume .*)` continues it", again.err)
        assert told is not None, again.err
        assert request_counts(url).get("/v1/chat/completions", 0) == 0
        resumed = commands.core_json(folder, *shlex.split(told[1]))
    assert (resumed["run"], resumed["status"], resumed["done"]) == ("first", "done", 2)
    assert commands.core(folder, *request, "--name", "first", "--endpoint", url).status == 0


@pytest.mark.soak
def test_the_commands_take_the_settings_and_print_the_run_as_runs_does(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    with serving() as url:
        workspace_with(folder, 6)
        options = (
            "--dataset",
            "bmdm",
            "--name",
            "r",
            "--model",
            "scripted",
            "--rows",
            "split=test",
            "--set",
            "seeds=42",
        )
        begun = commands.core_json(
            folder,
            "run",
            "prompt_only",
            *options,
            "--endpoint",
            url,
            "--token-budget",
            "1",
            "--concurrency",
            "1",
        )
        assert (begun["status"], begun["done"] < 6) == ("budget", True)
        refused = commands.core(folder, "resume r --token-budget 1")
        assert (refused.status, refused.err.count("\n")) == (
            0,
            0,
        )  # the budget that it has is no change
        cancelled = commands.core_json(folder, "cancel", "r")
        with serving() as other:
            go = ("--endpoint", other, "--token-budget", "1000000", "--concurrency", "2")
            resumed = commands.core_json(folder, "resume", "r", *go)
            nothing_failed = commands.core(folder, "retry", "r", *go)
        [listed] = commands.core_json(folder, "runs")["runs"]
    assert (cancelled["status"], resumed["status"], resumed["done"]) == ("cancelled", "done", 6)
    assert (nothing_failed.status, nothing_failed.err) == (
        1,
        "error: retry r: no row failed, expected one at least\n",
    )
    printed_before = {
        "run",
        "id",
        "status",
        "cause",
        "total",
        "done",
        "failed",
        "tokens",
        "spent_tokens",
        "unanswered",
        "left_s",
    }
    for record in (begun, cancelled, resumed):
        assert set(record) >= set(listed) | printed_before
    assert {name: resumed[name] for name in listed} == listed
