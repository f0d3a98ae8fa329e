"""The health check before a run: whether a server is fit for it, and which command starts one if nothing answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core.llm.answers import Answer, read_answer, read_json, read_token_count
from core.llm.client import Client, refuses_logprobs
from core.llm.endpoint import Endpoint
from core.llm.messages import Message, Request
from core.llm.serve import FLAGS, PORT
from core.net.retry import Fault

START_COMMAND = f"vllm serve openai/gpt-oss-120b --port {PORT} {' '.join(FLAGS)}"
_MOST_MODELS, _LONGEST_NAME, _MOST_NAMED = 10_000, 1_000, 20  # that are read of a list, of a name, and shown of a list
_TINY_PROMPT = "Answer with the single letter A."


@dataclass(frozen=True, slots=True)
class Health:
    """What a server can do.

    models: those that it lists. logprobs: whether it gives log-probabilities. max_model_len: the longest context in tokens,
    None if the server does not say. problem: why no run can start, "" if one can.
    """

    reachable: bool
    models: tuple[str, ...] = ()
    logprobs: bool = False
    max_model_len: int | None = None
    problem: str = ""


async def check_health(endpoint: Endpoint, model: str | None = None, timeout_s: float = 60.0) -> Health:
    """List the models and ask `model`, or the first one, for a tiny completion with log-probabilities; nothing is retried.

    timeout_s: for each of the at most three requests; a server that has just started needs long for its first answer.
    """
    async with Client(replace(endpoint, timeout_s=timeout_s)) as client:
        response = await client.fetch("GET", "/models")
        if isinstance(response, Fault):
            return _health_without_list(endpoint, response)
        lengths = _context_lengths(response)
        models = tuple(lengths)
        health = Health(True, models, max_model_len=lengths.get(model or next(iter(models), "")))
        if not models:
            return replace(health, problem=f"{endpoint.base_url}: lists no models, expected one at least")
        if model is not None and model not in models:
            return replace(health, problem=f"{endpoint.base_url}: {model!r} is not served, expected one of {_name_some(models)}")
        return await _check_completion(client, health, model or models[0])


def _name_some(models: Sequence[str]) -> str:
    """The models, the first of a great many."""
    rest = len(models) - _MOST_NAMED
    return ", ".join(models[:_MOST_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")


async def list_models(endpoint: Endpoint, timeout_s: float) -> Health:
    """Whether a server answers, and the models that it lists; no completion is requested, so `logprobs` is False."""
    async with Client(replace(endpoint, timeout_s=timeout_s, connect_timeout_s=timeout_s)) as client:
        response = await client.fetch("GET", "/models")
        if isinstance(response, Fault):
            return _health_without_list(endpoint, response)
        return Health(True, tuple(_context_lengths(response)))


async def _check_completion(client: Client, health: Health, model: str) -> Health:
    request = Request(model, (Message("user", _TINY_PROMPT),), max_completion_tokens=32, top_logprobs=1)
    answer = await _request_once(client, request)
    if isinstance(answer, Fault) and refuses_logprobs(answer):
        answer = await _request_once(client, replace(request, top_logprobs=None))
    if isinstance(answer, Answer):
        return replace(health, logprobs=bool(answer.logprobs))
    problem = answer.message if isinstance(answer, Fault) else answer
    return replace(health, problem=f"{client.endpoint.base_url}: {problem}, expected a completion of {model}")


async def _request_once(client: Client, request: Request) -> Answer | Fault | str:
    response = await client.fetch("POST", "/chat/completions", request.text)
    return response if isinstance(response, Fault) else read_answer(response)


def _health_without_list(endpoint: Endpoint, fault: Fault) -> Health:
    problem = f"{endpoint.base_url}: {fault.message}, expected a list of models"
    if fault.status is not None:
        return Health(reachable=True, problem=problem)
    return Health(reachable=False, problem=f"{problem}; start a server, for example: {START_COMMAND}")


def _context_lengths(text: str) -> dict[str, int | None]:
    """The listed models, each with its longest context in tokens, None if the server does not say; {} for any other text."""
    try:
        body = read_json(text)
    except ValueError:
        return {}
    listed = body.get("data") if isinstance(body, Mapping) else None
    lengths: dict[str, int | None] = {}
    for item in listed[:_MOST_MODELS] if isinstance(listed, list) else ():
        if isinstance(item, Mapping) and isinstance(item.get("id"), str) and len(item["id"]) <= _LONGEST_NAME:
            lengths[item["id"]] = read_token_count(item.get("max_model_len"))
    return lengths
