"""The health check before a run: whether a server is fit for it, and which command starts one if
nothing answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core.base.net.retry import Fault
from core.base.texts import list_some, parse_json
from core.llm.answers import find_objects, letter_schema
from core.llm.client import Client
from core.llm.completion import (
    Answer,
    AnswerFault,
    ending_of,
    fault_of_ending,
    read_answer,
    read_token_count,
)
from core.llm.endpoint import Endpoint
from core.llm.errors import describe_remedy, fewer_logprobs, refuses_logprobs
from core.llm.messages import MAX_TOP_LOGPROBS, Message, Request
from core.llm.streaming import CHAT, whole_answer

PORT = 8000
# Without eager mode GPT-OSS returned null content after the first requests; prefixes are few and
# short here.
FLAGS = ("--enforce-eager", "--no-enable-prefix-caching")
START_COMMAND = f"vllm serve openai/gpt-oss-120b --port {PORT} {' '.join(FLAGS)}"
# that are read of a list, of a name, and shown of a list
_MOST_MODELS, _LONGEST_NAME, MOST_NAMED = 10_000, 1_000, 20
CHECK_S = 60.0  # for each request of a check
_TINY_PROMPT = "Answer with the single letter A."
_TINY_LIMIT = 32  # tokens, of thinking too


@dataclass(frozen=True, slots=True)
class Health:
    """The abilities of a server. models: those that it lists. logprobs: whether it gives
    log-probabilities.

    max_model_len: the longest context in tokens, None if the server does not say. problem: why no
    run can start, "" if one can. most_logprobs: how many it gives at a token, if fewer than
    requested, else None. structured: whether it takes a schema, and answers by it as far as it
    answers.
    """

    reachable: bool
    models: tuple[str, ...] = ()
    logprobs: bool = False
    max_model_len: int | None = None
    problem: str = ""
    most_logprobs: int | None = None
    structured: bool = False


def describe_logprobs(health: Health) -> str:
    """Return whether a server gives log-probabilities, and if few, how many."""
    if not health.logprobs:
        return "no"
    return "yes" if health.most_logprobs is None else f"yes, {health.most_logprobs} a token at most"


async def check_health(
    endpoint: Endpoint,
    model: str | None = None,
    timeout_s: float = CHECK_S,
    *,
    by_schema: bool = False,
) -> Health:
    """List the models and ask `model`, or the only one, for a tiny completion as a run would ask;
    nothing is retried.

    A server that lists no models is asked all the same if a model is given. timeout_s: for each
    request; a server that has just started takes long for its first answer. by_schema: whether it
    is asked for an answer by schema, too.
    """
    async with Client(replace(endpoint, timeout_s=timeout_s)) as client:
        response = await client.fetch("GET", "/models")
        if isinstance(response, Fault) and (model is None or response.status is None):
            return _health_without_list(endpoint, response)
        lengths = {} if isinstance(response, Fault) else _context_lengths(response)
        models = tuple(lengths) or ((model,) if model else ())
        health = Health(True, models, max_model_len=lengths.get(model or next(iter(models), "")))
        problem = _problem_of_list(models, model)
        if problem:
            return replace(health, problem=f"{endpoint.base_url}: {problem}")
        health = await _check_completion(client, health, model or models[0])
        structured = (
            by_schema
            and not health.problem
            and await _answers_by_schema(client, model or models[0])
        )
        return replace(health, structured=structured)


def _problem_of_list(models: Sequence[str], model: str | None) -> str:
    """Return why no model of a list can be asked, "" if one can."""
    if not models:
        return "lists no models, expected one at least; give its name with --model"
    if model is not None and model not in models:
        return f"{model!r} is not served, expected one of {list_some(models, MOST_NAMED)}"
    if model is None and len(models) > 1:
        return (
            f"{len(models):,} models are served, expected the name of one with --model:"
            f" {list_some(models, MOST_NAMED)}"
        )
    return ""


async def list_models(endpoint: Endpoint, timeout_s: float) -> Health:
    """Return whether a server answers, and the models that it lists; no completion is requested, so
    `logprobs` is False."""
    async with Client(
        replace(endpoint, timeout_s=timeout_s, connect_timeout_s=timeout_s)
    ) as client:
        response = await client.fetch("GET", "/models")
        if isinstance(response, Fault):
            return _health_without_list(endpoint, response)
        return Health(True, tuple(_context_lengths(response)))


async def _check_completion(client: Client, health: Health, model: str) -> Health:
    """Ask for a completion with everything that methods send, and with fewer log-probabilities, or
    none, if they are refused."""
    plain = Request(
        model,
        (Message("user", _TINY_PROMPT),),
        seed=0,
        max_completion_tokens=_TINY_LIMIT,
        top_logprobs=MAX_TOP_LOGPROBS,
    )
    request = client.prepare(plain)
    asked = request.top_logprobs
    answer = await _request_once(client, request)
    while (
        isinstance(answer, Fault) and request.top_logprobs is not None and refuses_logprobs(answer)
    ):
        request = replace(request, top_logprobs=fewer_logprobs(answer, request.top_logprobs))
        answer = await _request_once(client, request)
    if isinstance(answer, Answer):
        fewer = request.top_logprobs if request.top_logprobs != asked and answer.logprobs else None
        return replace(health, logprobs=bool(answer.logprobs), most_logprobs=fewer)
    advice = describe_remedy(answer, request)
    return replace(
        health,
        problem=(
            f"{client.endpoint.base_url}: {answer.message}, expected a completion of"
            f" {model}{advice and f'; {advice}'}"
        ),
    )


async def _answers_by_schema(client: Client, model: str) -> bool:
    """Ask for an answer by schema, as the option `structured` of methods does."""
    request = Request(
        model,
        (Message("user", _TINY_PROMPT),),
        seed=0,
        max_completion_tokens=_TINY_LIMIT,
        response_format=letter_schema("A").response_format,
    )
    answer = await _request_once(client, client.prepare(request))
    objects = [] if isinstance(answer, Fault) else [*find_objects(answer.content or "")]
    is_cut = isinstance(answer, Answer) and ending_of(answer.finish_reason) == "cut"
    return is_cut or any("answer" in found for found in objects)


async def _request_once(client: Client, request: Request) -> Answer | Fault:
    response = await client.fetch("POST", CHAT, request.text)
    if isinstance(response, Fault):
        return response
    try:
        answer = read_answer(whole_answer(response))
    except ValueError as error:
        return Fault("malformed", str(error))
    return answer if isinstance(answer, AnswerFault) else fault_of_ending(answer) or answer


def _health_without_list(endpoint: Endpoint, fault: Fault) -> Health:
    problem = f"{endpoint.base_url}: {fault.message}, expected a list of models"
    if fault.status is not None:
        return Health(
            reachable=True,
            problem=f"{problem}; if it serves a model all the same, give its name with --model",
        )
    return Health(
        reachable=False, problem=f"{problem}; start a server, for example: {START_COMMAND}"
    )


def _context_lengths(text: str) -> dict[str, int | None]:
    """Return the listed models, each with its longest context in tokens, None if not stated; {} for
    any other text."""
    try:
        body = parse_json(text)
    except ValueError:
        return {}
    # Ollama's own list has names instead of ids
    is_usual = not isinstance(body, Mapping) or "models" not in body
    listed = body.get("data" if is_usual else "models") if isinstance(body, Mapping) else body
    lengths: dict[str, int | None] = {}
    for item in listed[:_MOST_MODELS] if isinstance(listed, list) else ():
        name = item.get("id" if is_usual else "name") if isinstance(item, Mapping) else None
        if isinstance(name, str) and len(name) <= _LONGEST_NAME:
            lengths[name] = read_token_count(item.get("max_model_len"))
    return lengths


def describe_difference(health: Health, model: str, reference: Health, at: str) -> str:
    """Return how a server differs from the first one, whose address is `at`; "" if one run can use
    both.

    at: "" for the first one itself, which has to serve the model.
    """
    if model not in health.models:
        return (
            f"serves {', '.join(health.models) or 'no model'}, expected"
            f" {model}{f' as {at} does' if at else ''}"
        )
    if health.problem:  # without a completion, the server's abilities are unknown
        return ""
    if health.logprobs != reference.logprobs:
        gives = {True: "gives log-probabilities", False: "gives no log-probabilities"}
        return f"{gives[health.logprobs]}, but {at} {gives[reference.logprobs]}"
    if health.max_model_len != reference.max_model_len:
        lengths = [
            f"{n:,} tokens" if n else "of unknown length"
            for n in (health.max_model_len, reference.max_model_len)
        ]
        return f"has a longest context of {lengths[0]}, expected {lengths[1]} as at {at}".replace(
            "of of", "of"
        )
    return ""
