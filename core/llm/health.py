"""Is a server fit for a run? Asked before one, and shown with what to start where nothing answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.llm.answers import Answer, read_answer, read_json
from core.llm.client import Client, refuses_logprobs
from core.llm.endpoint import Endpoint
from core.llm.messages import Message, Request
from core.net.transport import Fault

# Without eager mode GPT-OSS returned null content after the first requests.
TO_START = "vllm serve openai/gpt-oss-120b --port 8000 --enforce-eager --no-enable-prefix-caching"
_TINY = "Answer with the single letter A."


@dataclass(frozen=True, slots=True)
class Health:
    """What a server can do; problem is "" where a run may begin.

    models: what it lists. logprobs: whether it gives log-probabilities. max_model_len: the longest context in tokens, None
    where the server does not say.
    """

    reachable: bool
    models: tuple[str, ...] = ()
    logprobs: bool = False
    max_model_len: int | None = None
    problem: str = ""


async def check(endpoint: Endpoint, model: str | None = None, timeout_s: float = 60.0) -> Health:
    """Lists the models and asks `model`, or the first one, for a tiny completion with log-probabilities; nothing is retried.

    timeout_s: for each of the at most three requests; a server that has just started takes long for its first answer.
    """
    async with Client(replace(endpoint, timeout_s=timeout_s)) as client:
        listed = await client.fetch("GET", "/models")
        if isinstance(listed, Fault):
            return _no_list(endpoint, listed)
        lengths = _models(listed)
        models = tuple(lengths)
        health = Health(True, models, max_model_len=lengths.get(model or next(iter(models), "")))
        if not models:
            return replace(health, problem=f"{endpoint.base_url}: lists no models, expected one at least")
        if model is not None and model not in models:
            return replace(health, problem=f"{endpoint.base_url}: {model!r} is not served, expected one of {', '.join(models)}")
        return await _with_completion(client, health, model or models[0])


async def list_models(endpoint: Endpoint, timeout_s: float) -> Health:
    """Whether a server answers, and the models it lists; no model is asked, so nothing is known of its log-probabilities."""
    async with Client(replace(endpoint, timeout_s=timeout_s, connect_timeout_s=timeout_s)) as client:
        listed = await client.fetch("GET", "/models")
        return _no_list(endpoint, listed) if isinstance(listed, Fault) else Health(True, tuple(_models(listed)))


async def _with_completion(client: Client, health: Health, model: str) -> Health:
    request = Request(model, (Message("user", _TINY),), max_completion_tokens=32, top_logprobs=1)
    answer = await _once(client, request)
    if isinstance(answer, Fault) and refuses_logprobs(answer):
        answer = await _once(client, replace(request, top_logprobs=None))
    if isinstance(answer, Answer):
        return replace(health, logprobs=bool(answer.logprobs))
    said = answer.message if isinstance(answer, Fault) else answer
    return replace(health, problem=f"{client.endpoint.base_url}: {said}, expected a completion of {model}")


async def _once(client: Client, request: Request) -> Answer | Fault | str:
    found = await client.fetch("POST", "/chat/completions", request.text)
    return found if isinstance(found, Fault) else read_answer(found)


def _no_list(endpoint: Endpoint, fault: Fault) -> Health:
    problem = f"{endpoint.base_url}: {fault.message}, expected a list of models"
    if fault.status is not None:
        return Health(reachable=True, problem=problem)
    return Health(reachable=False, problem=f"{problem}; start a server, for example: {TO_START}")


def _models(text: str) -> dict[str, int | None]:
    """The names of the models listed, each with its longest context where the server says it."""
    try:
        body = read_json(text)
    except ValueError:
        return {}
    listed = body.get("data") if isinstance(body, Mapping) else None
    found: dict[str, int | None] = {}
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, Mapping) and isinstance(item.get("id"), str):
            length = item.get("max_model_len")
            found[item["id"]] = length if isinstance(length, int) else None
    return found
