"""A check of a server sends what the method's own rows send."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from core.errors import InputError
from core.llm.call_settings import CallSettings
from core.llm.endpoint import Endpoint
from core.llm.health import check_health
from core.methods.base import method_named
from core.methods.call_probe import find_requests
from tests.llm.canned import Asked, Canned, completion, serving
from tests.methods.test_servers_as_they_are import METHODS, good
from tests.methods.world import predict


def sent_by_check(method: str, settings: CallSettings, **options: Any) -> tuple[list[str], str]:
    """What a check sends beside the messages and seeds after its first request, and the problem that it finds."""
    requests = asyncio.run(find_requests(method_named(method), options))
    with serving(lambda _: Canned({**completion(), "data": [{"id": "scripted"}]})) as (url, asked):
        health = asyncio.run(check_health(Endpoint(url, calls=settings), asked=[settings.apply(each) for each in requests]))
    return parameters(asked)[1:], health.problem


def parameters(asked: list[Asked]) -> list[str]:
    bodies = [dict(each.body) for each in asked if each.path.endswith("completions")]
    return [
        json.dumps({k: v for k, v in body.items() if k not in ("model", "messages", "seed")}, sort_keys=True) for body in bodies
    ]


@pytest.mark.parametrize("method", METHODS)
def test_a_check_sends_the_parameters_of_the_methods_own_rows(method: str) -> None:
    found: Any = method_named(method)
    with serving(lambda each: Canned(completion(good(each)))) as (url, asked):
        predict(found, url, **METHODS[method])
    assert set(sent_by_check(method, CallSettings(), **METHODS[method])[0]) == set(parameters(asked))


def test_settings_and_options_change_what_a_check_sends() -> None:
    sent, _ = sent_by_check(
        "prompt_only", CallSettings(temperature=0.0, limit_name="max_tokens"), max_tokens=777, answers="letters"
    )
    assert [json.loads(each) for each in sent] == [{"temperature": 0.0, "top_p": 1.0, "max_tokens": 777}]


def test_a_reading_is_checked_too_and_log_probabilities_that_it_needs_are_missed() -> None:
    sent, problem = sent_by_check("judge_rubric", CallSettings())
    assert [json.loads(each)["top_logprobs"] for each in sent] == [20]
    assert "an answer without log-probabilities" in problem
    assert sent_by_check("judge_rubric", CallSettings(), answers="letters")[1] == ""
    assert sent_by_check("read_findings", CallSettings())[1] == ""


def test_what_the_server_refuses_of_a_method_is_named_before_a_run() -> None:
    def answer(asked: Asked) -> Canned:
        if asked.body is not None and "reasoning_effort" in asked.body:
            return Canned({"error": {"message": "Unknown parameter: reasoning_effort"}}, 400)
        return Canned({**completion(), "data": [{"id": "m"}]})

    requests = asyncio.run(find_requests(method_named("prompt_only"), {"effort": "high", "answers": "letters"}))
    with serving(answer) as (url, _):
        health = asyncio.run(check_health(Endpoint(url), asked=requests))
    assert "Unknown parameter: reasoning_effort" in health.problem
    assert health.problem.endswith("; set --leave-out reasoning_effort")


@pytest.mark.parametrize("method", ["knn", "fusion", "evidence_rules", "debate_again"])
def test_a_method_without_calls_of_its_own(method: str) -> None:
    with pytest.raises(InputError, match="has no calls of its own"):
        asyncio.run(find_requests(method_named(method), {}))
