"""Several model servers of a request: what each can do, which differ, and what starts no run."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from core.base.errors import InputError, Unreachable
from core.llm.call_settings import CallSettings
from core.llm.health import Health
from core.methods.base import method_named
from core.runs import launch, model_servers, run_control
from core.runs.request import Price, RunRequest
from core.store import runs
from tests import commands
from tests.fakes.scripted import MODEL, Script, serving
from tests.llm.canned import Canned, completion
from tests.llm.canned import serving as canned
from tests.runs.cases import fast, wish, workspace_with
from tests.runs.methods import Asking, here

NOBODY = "http://127.0.0.1:9/v1"


@pytest.mark.soak
def test_servers_that_differ_or_are_silent_are_named(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 3)
    with serving() as one, serving() as two, serving(Script(logprobs="left out")) as other:
        found = asyncio.run(model_servers.check_each(workspace, f"{one},{two},{other},{NOBODY}"))
        assert list(found) == [one, two, other, NOBODY]
        assert [health.problem == "" for health in found.values()] == [True, True, False, False]
        assert (
            found[other].problem
            == f"{other}: gives no log-probabilities, but {one} gives log-probabilities"
        )
        together = model_servers.combine(found)
        assert (together.reachable, together.models, together.logprobs) == (True, (MODEL,), True)
        assert {other, NOBODY} <= {word.rstrip(":") for word in together.problem.split()}
        # the other may come later
        model_servers.refuse_unfit(workspace, f"{NOBODY},{one}", MODEL)
        request = RunRequest("prompt_only", "bmdm", rows="split=test", endpoint=f"{one},{other}")
        with pytest.raises(
            InputError,
            match=f"{other}: gives no log-probabilities.*expected the same model and limits",
        ):
            launch.start(workspace, request)
        with pytest.raises(
            Unreachable, match="'nothing-like-it' is not served, expected one of scripted"
        ):
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
        settings = launch.execution_settings(
            workspace, RunRequest("prompt_only", endpoint=given), method
        )
        assert (settings.servers, settings.has_several) == (held, given != NOBODY)
    with pytest.raises(InputError, match="expected one such as http"):
        launch.execution_settings(
            workspace, RunRequest("prompt_only", endpoint="no-such-file"), method
        )


@pytest.mark.soak
def test_the_commands_show_each_server(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 6)
    with serving() as one, serving() as two:
        (tmp_path / "servers.txt").write_text(f"{one}\n{two}\n")
        file = str(tmp_path / "servers.txt")
        health = commands.core_json(tmp_path, "endpoint", "--endpoint", file)
        options = (
            "--dataset",
            "bmdm",
            "--rows",
            "split=test",
            "--set",
            "seeds=42",
            "--endpoint",
            file,
            "--name",
            "both",
        )
        made = commands.core_json(tmp_path, "run", "prompt_only", *options)
        log = commands.core(tmp_path, "log", "both").out
    assert [(each["address"], each["problem"]) for each in health["servers"]] == [
        (one, ""),
        (two, ""),
    ]
    assert (health["reachable"], health["models"], health["logprobs"]) == (True, [MODEL], True)
    assert (made["status"], made["done"], made["notice"]) == ("done", 6, "")
    assert {each["address"]: each["done"] for each in made["servers"]}.keys() == {one, two}
    assert sum(each["done"] for each in made["servers"]) == 6
    assert f"  {one}: " in log
    assert run_control.settings_of(workspace, "both").servers == file


ENDPOINTS = """
[[endpoint]]
address = "http://127.0.0.1:9/v1/"
leave_out = ["seed"]
limit_name = "max_tokens"
price_prompt = 1
price_completion = 2

[[endpoint]]
address = "http://127.0.0.1:9/v1"
model = "m"
temperature = 0.5
price_prompt = 3
price_completion = 4
"""


def test_the_file_of_endpoints_says_how_a_server_is_asked_and_what_it_costs(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 3)
    (workspace.settings.data / model_servers.ENDPOINT_FILE).write_text(ENDPOINTS)
    of_model = CallSettings(temperature=0.5, leave_out=("seed",), limit_name="max_tokens")
    assert model_servers.call_settings(workspace, NOBODY, "m", CallSettings()) == of_model
    assert model_servers.call_settings(
        workspace, NOBODY, "n", CallSettings(leave_out=("top_p",))
    ) == CallSettings(leave_out=("top_p",), limit_name="max_tokens")
    assert (
        model_servers.call_settings(workspace, "http://127.0.0.1:10/v1", "m", CallSettings())
        == CallSettings()
    )
    assert model_servers.price_at(workspace, NOBODY, "m") == Price(3, 4)
    assert model_servers.price_at(workspace, f"{NOBODY},http://127.0.0.1:10/v1", "n") == Price(1, 2)
    assert model_servers.price_at(workspace, "http://127.0.0.1:10/v1", "m") is None
    assert model_servers.endpoint_of(workspace, NOBODY, "m").calls == of_model


@pytest.mark.soak
def test_a_run_costs_what_its_own_server_takes_for_its_model(tmp_path: Path) -> None:
    workspace, method = workspace_with(tmp_path, 1), Asking()
    with canned(lambda _: Canned(completion())) as (url, _):
        ran = [
            run_control.start(
                workspace,
                wish(workspace, method, model=model),
                model,
                fast(url),
                begin=here(method),
            )
            for model in ("m", "n")
        ]
    imported = replace(ran[0], id="0123456789")  # nothing is known of its server
    assert model_servers.prices_of_runs(workspace, ran) == {}
    entries = (
        f'[[endpoint]]\naddress = "{url}"\nmodel = "m"\nprice_prompt = 3\nprice_completion = 4\n'
    )
    (workspace.settings.data / model_servers.ENDPOINT_FILE).write_text(entries)
    assert model_servers.prices_of_runs(workspace, [*ran, imported]) == {ran[0].id: Price(3, 4)}
    priced = replace(
        workspace, settings=replace(workspace.settings, price_prompt=1.0, price_completion=2.0)
    )
    found = model_servers.prices_of_runs(priced, [*ran, imported])
    assert found == {ran[0].id: Price(3, 4), ran[1].id: Price(1, 2), imported.id: Price(1, 2)}


@pytest.mark.soak
def test_how_a_server_is_asked_is_part_of_a_run_as_far_as_it_changes_answers(
    tmp_path: Path,
) -> None:
    workspace = workspace_with(tmp_path, 3)
    asked = RunRequest("prompt_only", model="m", endpoint=NOBODY)
    plain = launch.resolve(workspace, asked)
    (workspace.settings.data / model_servers.ENDPOINT_FILE).write_text(ENDPOINTS)
    of_file = launch.resolve(workspace, asked)
    changed = {name: value for name, value in of_file.calls.items() if value != plain.calls[name]}
    assert changed == {"temperature": 0.5, "leave_out": ["seed"]}
    assert of_file.key != plain.key
    settings = launch.execution_settings(workspace, asked, method_named("prompt_only"))
    assert settings.endpoint().calls == CallSettings(
        temperature=0.5, leave_out=("seed",), limit_name="max_tokens"
    )
    with pytest.raises(InputError, match="temperature"):
        launch.resolve(
            workspace,
            RunRequest("evidence_rules", endpoint=NOBODY, calls=CallSettings(temperature=0.5)),
        )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[endpoint]]\naddress = 'http://a/v1'\nprice_prompt = 1", "has one price"),
        ("[[endpoint]]\naddress = 'http://a/v1'\ntop_k = 1", "top_k"),
        ("[[endpoint]]\nmodel = 'm'", "address"),
    ],
)
def test_a_wrong_file_of_endpoints_is_refused(text: str, said: str, tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 3)
    (workspace.settings.data / model_servers.ENDPOINT_FILE).write_text(text)
    with pytest.raises(InputError, match=said):
        model_servers.price_at(workspace, NOBODY, "m")


def test_of_several_models_none_is_chosen_for_anybody() -> None:
    with pytest.raises(InputError, match="2 are served; expected one of text-embedding-x, m"):
        launch.only_model(Health(True, ("text-embedding-x", "m")))
    with pytest.raises(Unreachable, match="gone"):
        launch.only_model(Health(False, problem="gone"))
    assert launch.only_model(Health(True, ("m",))) == "m"
