from __future__ import annotations

import asyncio
from typing import Any

import pytest

from core.llm.endpoint import Endpoint
from core.llm.health import START_COMMAND, Health, check_health
from core.llm.scripted_server import Script, serving
from core.net.server_access import ServerAccess
from tests.llm import canned
from tests.llm.canned import KEY, Asked, Canned, completion

MODELS = {"object": "list", "data": [{"id": "m", "max_model_len": 4096}, {"id": "n"}]}


def health(url: str, model: str | None = None, key: str = "") -> Health:
    return asyncio.run(check_health(Endpoint(url, ServerAccess.of(url, key)), model, timeout_s=5.0))


def server(asked: Asked) -> Canned:
    if asked.path == "/v1/models":
        return Canned(MODELS)
    return Canned(
        completion(None, "length", logprobs={"content": [{"token": "A", "logprob": -1}]} if "logprobs" in asked.body else None)
    )


def test_a_good_server() -> None:
    with canned.serving(server) as (url, asked):
        assert health(url) == Health(True, ("m", "n"), True, 4096, "")
        assert health(url, "n") == Health(True, ("m", "n"), True, None, "")
    assert [(a.path, a.body and a.body["model"]) for a in asked] == [
        ("/v1/models", None),
        ("/v1/chat/completions", "m"),
        ("/v1/models", None),
        ("/v1/chat/completions", "n"),
    ]
    assert asked[1].body["max_completion_tokens"] <= 32


def test_a_model_that_is_not_there() -> None:
    with canned.serving(server) as (url, asked):
        found = health(url, "gpt")
    assert found == Health(True, ("m", "n"), False, None, f"{url}: 'gpt' is not served, expected one of m, n")
    assert len(asked) == 1


@pytest.mark.parametrize("script", [Script(logprobs="refused"), Script(logprobs="left out")])
def test_a_server_without_logprobs(script: Script) -> None:
    with serving(script) as url:
        assert health(url) == Health(True, ("scripted",), False, 131_072, "")


def test_nobody_there_says_what_to_start() -> None:
    with serving() as url:
        pass
    found = health(url)
    assert (found.reachable, found.models, found.logprobs) == (False, (), False)
    assert found.problem.endswith(f"start a server, for example: {START_COMMAND}")
    assert START_COMMAND == "vllm serve openai/gpt-oss-120b --port 8000 --enforce-eager --no-enable-prefix-caching"


def test_a_wrong_key_is_a_problem_and_not_shown() -> None:
    with serving(Script(api_key="another")) as url:
        found = health(url, key=KEY)
        assert health(url, key="another").problem == ""
    assert found.reachable
    assert "HTTP 401 (Incorrect API key provided: [key].)" in found.problem
    assert "sesame" not in repr(found)


@pytest.mark.parametrize("body", [{"data": []}, {"data": None}, {}, [], "<html>", {"data": [{"name": "m"}, 3]}])
def test_a_list_without_models(body: Any) -> None:
    with canned.serving(lambda _: Canned(body)) as (url, _):
        assert health(url) == Health(True, problem=f"{url}: lists no models, expected one at least")


@pytest.mark.parametrize(
    ("answer", "said"),
    [(Canned("{"), "no JSON"), (Canned({"error": "full"}, 503), "HTTP 503 (full)"), (Canned({}), "no choices")],
)
def test_no_completion_is_a_problem(answer: Canned, said: str) -> None:
    with canned.serving(lambda asked: Canned(MODELS) if asked.body is None else answer) as (url, asked):
        found = health(url)
    assert (found.reachable, found.models, found.max_model_len, found.logprobs) == (True, ("m", "n"), 4096, False)
    assert said in found.problem
    assert found.problem.endswith("expected a completion of m")
    assert len(asked) == 2  # nothing is retried


def test_of_a_great_many_models_some_are_named() -> None:
    listed = {"data": [{"id": f"m{i}"} for i in range(20_000)] + [{"id": "x" * 5_000}]}
    with canned.serving(lambda _: Canned(listed)) as (url, _):
        found = health(url, "other")
    assert len(found.models) == 10_000
    assert found.problem.endswith("m19 and 9,980 more")
