from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from core.base.net.server_access import ServerAccess
from core.llm.call_settings import CallSettings
from core.llm.endpoint import Endpoint
from core.llm.health import (
    START_COMMAND,
    Health,
    check_health,
    describe_difference,
    describe_logprobs,
)
from tests.fakes.scripted import Script, serving
from tests.llm import canned
from tests.llm.canned import KEY, Asked, Canned, completion

MODELS = {"object": "list", "data": [{"id": "m", "max_model_len": 4096}, {"id": "n"}]}


def health(url: str, model: str | None = None, key: str = "") -> Health:
    return asyncio.run(
        check_health(Endpoint(url, ServerAccess.of(url, key)), model, timeout_s=5.0, by_schema=True)
    )


def server(asked: Asked) -> Canned:
    if asked.path == "/v1/models":
        return Canned(MODELS)
    return Canned(
        completion(
            None,
            "length",
            logprobs={"content": [{"token": "A", "logprob": -1}]}
            if "logprobs" in asked.body
            else None,
        )
    )


def test_a_good_server() -> None:
    with canned.serving(server) as (url, asked):
        assert health(url, "m") == Health(True, ("m", "n"), True, 4096, "", structured=True)
        assert health(url, "n") == Health(True, ("m", "n"), True, None, "", structured=True)
    assert [(a.path, a.body and a.body["model"]) for a in asked] == [
        ("/v1/models", None),
        ("/v1/chat/completions", "m"),
        ("/v1/chat/completions", "m"),
        ("/v1/models", None),
        ("/v1/chat/completions", "n"),
        ("/v1/chat/completions", "n"),
    ]
    assert asked[1].body["max_completion_tokens"] <= 32


def test_of_several_models_none_is_taken_for_the_one_that_is_meant() -> None:
    with canned.serving(server) as (url, asked):
        assert (
            health(url).problem
            == f"{url}: 2 models are served, expected the name of one with --model: m, n"
        )
    assert len(asked) == 1


@pytest.mark.parametrize(
    "body", [[{"id": "m"}], {"models": [{"name": "m"}]}, {"data": [{"id": "m"}], "object": "list"}]
)
def test_lists_of_other_forms(body: Any) -> None:
    with canned.serving(
        lambda asked: Canned(body) if asked.body is None else Canned(completion())
    ) as (url, _):
        assert health(url) == Health(True, ("m",))


@pytest.mark.parametrize(
    "listed", [Canned({"error": "no"}, 404), Canned({"data": []}), Canned("[]")]
)
def test_a_model_that_is_named_is_asked_without_a_list(listed: Canned) -> None:
    with canned.serving(lambda asked: listed if asked.body is None else Canned(completion())) as (
        url,
        _,
    ):
        assert health(url, "m") == Health(True, ("m",))
        assert "give its name with --model" in health(url).problem


@pytest.mark.parametrize(
    ("refused", "message", "remedy"),
    [
        ("seed", "Extra inputs are not permitted: seed", "set --leave-out seed"),
        ("top_p", "Unsupported parameter: 'top_p'", "set --leave-out top_p"),
        ("temperature", "temperature: only 1 is supported", "set --leave-out temperature"),
        (
            "max_completion_tokens",
            "unknown field max_completion_tokens",
            "set --limit-name max_tokens",
        ),
    ],
)
def test_a_parameter_that_is_refused_is_found_with_what_to_set(
    refused: str, message: str, remedy: str
) -> None:
    def answer(asked):
        if asked.body is None:
            return Canned({"data": [{"id": "m"}]})
        return Canned({"detail": message}, 422) if refused in asked.body else Canned(completion())

    with canned.serving(answer) as (url, _):
        assert health(url).problem.endswith(
            f"HTTP 422 ({message}), expected a completion of m; {remedy}"
        )
        settings = (
            CallSettings(limit_name="max_tokens")
            if "limit" in remedy
            else CallSettings(leave_out=(refused,))
        )  # type: ignore[arg-type]
        assert asyncio.run(check_health(Endpoint(url, calls=settings), timeout_s=5.0)).problem == ""


@pytest.mark.parametrize(
    ("says", "most"), [("must be less than or equal to 5", 5), ("top_logprobs: too many", 10)]
)
def test_as_many_logprobs_as_the_server_allows(says: str, most: int) -> None:
    def answer(asked):
        if asked.body is None:
            return Canned({"data": [{"id": "m"}]})
        if asked.body.get("top_logprobs", 0) > most:
            return Canned({"error": {"message": f"Invalid value for 'top_logprobs': {says}"}}, 400)
        return Canned(completion(logprobs={"content": [{"token": "A", "logprob": -1}]}))

    with canned.serving(answer) as (url, _):
        found = health(url)
    assert (found.logprobs, found.most_logprobs, found.problem) == (True, most, "")
    assert describe_logprobs(found) == f"yes, {most} a token at most"


@pytest.mark.parametrize(
    "body",
    [completion("A", "content_filter"), completion("A", "paused"), completion(None, "tool_calls")],
)
def test_an_answer_that_no_run_could_use_is_a_problem(body: dict[str, Any]) -> None:
    with canned.serving(
        lambda asked: Canned({"data": [{"id": "m"}]} if asked.body is None else body)
    ) as (url, _):
        assert "finish_reason" in health(url).problem


def test_a_model_that_is_not_there() -> None:
    with canned.serving(server) as (url, asked):
        found = health(url, "gpt")
    assert found == Health(
        True, ("m", "n"), False, None, f"{url}: 'gpt' is not served, expected one of m, n"
    )
    assert len(asked) == 1


@pytest.mark.parametrize("script", [Script(logprobs="refused"), Script(logprobs="left out")])
def test_a_server_without_logprobs(script: Script) -> None:
    with serving(script) as url:
        assert health(url) == Health(True, ("scripted",), False, 131_072, "", structured=True)


@pytest.mark.parametrize(
    ("answer", "structured"),
    [
        (Canned(completion('{"reasoning": "", "answer": "A"}')), True),
        (Canned(completion(None, "length")), True),  # it thinks for long
        (Canned(completion("The answer is A.")), False),  # it takes no notice of the schema
        (Canned({"error": {"message": "response_format is not supported"}}, 400), False),
    ],
)
def test_whether_a_server_answers_by_schema(answer: Canned, structured: bool) -> None:
    def respond(asked):
        usual = Canned(MODELS) if asked.body is None else Canned(completion())
        return answer if asked.body and "response_format" in asked.body else usual

    with canned.serving(respond) as (url, _):
        found = health(url, "m")
    assert (found.structured, found.problem) == (structured, "")


def test_nobody_there_says_what_to_start() -> None:
    with serving() as url:
        pass
    found = health(url)
    assert (found.reachable, found.models, found.logprobs) == (False, (), False)
    assert found.problem.endswith(f"start a server, for example: {START_COMMAND}")
    assert (
        START_COMMAND
        == "vllm serve openai/gpt-oss-120b --port 8000 --enforce-eager --no-enable-prefix-caching"
    )


def test_a_wrong_key_is_a_problem_and_not_shown() -> None:
    with serving(Script(api_key="another")) as url:
        found = health(url, key=KEY)
        assert health(url, key="another").problem == ""
    assert found.reachable
    assert "HTTP 401 (Incorrect API key provided: [key].)" in found.problem
    assert "sesame" not in repr(found)


@pytest.mark.parametrize(
    "body", [{"data": []}, {"data": None}, {}, [], "<html>", {"data": [{"name": "m"}, 3]}]
)
def test_a_list_without_models(body: Any) -> None:
    with canned.serving(lambda _: Canned(body)) as (url, _):
        assert health(url) == Health(
            True,
            problem=f"{url}: lists no models, expected one at least; give its name with --model",
        )


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Canned("{"), "no JSON"),
        (Canned({"error": "full"}, 503), "HTTP 503 (full)"),
        (Canned({}), "no choices"),
    ],
)
def test_no_completion_is_a_problem(answer: Canned, said: str) -> None:
    with canned.serving(lambda asked: Canned(MODELS) if asked.body is None else answer) as (
        url,
        asked,
    ):
        found = health(url, "m")
    assert (found.reachable, found.models, found.max_model_len, found.logprobs) == (
        True,
        ("m", "n"),
        4096,
        False,
    )
    assert said in found.problem
    assert found.problem.endswith("expected a completion of m")
    assert len(asked) == 2  # nothing is retried


@pytest.mark.soak
def test_of_a_great_many_models_some_are_named() -> None:
    listed = {"data": [{"id": f"m{i}"} for i in range(20_000)] + [{"id": "x" * 5_000}]}
    with canned.serving(lambda _: Canned(listed)) as (url, _):
        found = health(url, "other")
    assert len(found.models) == 10_000
    assert found.problem.endswith("m19 and 9,980 more")


FIRST = "http://a:8000/v1"
FIT = Health(True, ("m", "other"), logprobs=True, max_model_len=4096)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, ""),
        ({"models": ("m",)}, ""),  # what else it serves does not matter
        ({"models": ("other",)}, f"serves other, expected m as {FIRST} does"),
        ({"logprobs": False}, f"gives no log-probabilities, but {FIRST} gives log-probabilities"),
        (
            {"max_model_len": 512},
            f"has a longest context of 512 tokens, expected 4,096 tokens as at {FIRST}",
        ),
        (
            {"max_model_len": None},
            f"has a longest context of unknown length, expected 4,096 tokens as at {FIRST}",
        ),
    ],
)
def test_what_may_not_differ(change: dict[str, Any], said: str) -> None:
    assert describe_difference(replace(FIT, **change), "m", FIT, FIRST) == said


def test_the_first_server_differs_from_no_other() -> None:
    other = replace(FIT, models=("other",))
    assert describe_difference(other, "m", other, "") == "serves other, expected m"
