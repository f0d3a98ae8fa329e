"""The answers of the scripted server to chat requests: the JSON of a completion, an agent's fields, or a refusal."""

from __future__ import annotations

import hashlib
import json
import re
from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from core.hashes import sha256_of
from core.llm.scripted_faults import Faults, damage
from core.llm.scripted_text import (
    ScriptedPrompt,
    find_genes,
    tokenize,
    tokenize_answer,
    write_answer,
    write_logprobs,
    write_wrong_format,
)

MODEL = "scripted"
_REASONING = "Scripted reasoning, which no model did. The answer follows from a hash of the request."
_REFUSAL = "This is a scripted refusal: nothing can be said of that."

# Of an agent, whose prompts DSPy writes: it takes one to four steps, each with a tool of the list and symbols of the pair.
_END = "[[ ## completed ## ]]"
_REQUEST = re.compile(r"\nRespond with (a JSON object|the corresponding output fields)([^\n]*)\Z")
_MAX_STEPS = 4
_FIELD = re.compile(r"\[\[ ## (\w+) ## \]\]\n([^\n]*)")
_WANTED = re.compile(r"`(?:\[\[ ## )?(\w+)(?: ## \]\])?`")
_TOOL = re.compile(r"\(\d+\) (\w+), whose description is <desc>.*?</desc>\. It takes arguments (\{.*\})\.", re.DOTALL)
_QUESTION = re.compile(r"What is known of (\S+) and (\S+)\?")
_STEP = re.compile(r"\[\[ ## thought_\d+ ## \]\]")


def write_reply(prompt: ScriptedPrompt) -> str:
    """Return the fields that an agent's prompt asks for, or an answer in the format of any other prompt."""
    text = write_fields(prompt)
    return write_answer(prompt) if text is None else text


@dataclass(frozen=True, slots=True)
class Script:
    """The behaviour of a scripted server: equal scripts and requests give equal answers and faults, in any order.

    retry_after_s: of a 429. reasoning: the field that holds the reasoning; None for no reasoning. logprobs: given, refused
    with a 400, or left out of the answer. api_key: required unless ""; a wrong one is repeated in the error. answer: writes
    the reply to a prompt, by default in the format that the prompt shows. refused: the share of pairs of genes about which
    requests with the seed `refusing_seed` get a refusal, however often they are sent. drip_s: between two bytes of a drip.
    at_once: how many answers are made at a time, so that a server gives at most at_once / delay_s answers a second; None for any.
    token_s: between two tokens of a stream. streams: whether it streams at all, or refuses to with a 400.
    """

    seed: int = 0
    faults: Faults = field(default_factory=Faults)
    delay_s: float = 0.0
    retry_after_s: float = 1.0
    reasoning: Literal["reasoning", "reasoning_content"] | None = "reasoning"
    logprobs: Literal["given", "refused", "left out"] = "given"
    tokenizer: bool = True
    max_model_len: int = 131_072
    api_key: str = ""
    answer: Callable[[ScriptedPrompt], str] = write_reply
    refusing_seed: int | None = None
    refused: float = 0.0
    drip_s: float = 0.05
    at_once: int | None = None
    token_s: float = 0.0
    streams: bool = True


class Completion(NamedTuple):
    """The JSON of a completion, and the tokens of its reasoning and of its content."""

    answer: dict[str, Any]
    reasoning: Sequence[str]
    content: Sequence[str]


def completion(script: Script, prompt: ScriptedPrompt, body: Mapping[str, Any], fault: str) -> Completion:
    """Return a completion; the token limit counts reasoning first, as with models that reason."""
    prompt_tokens = len(tokenize(prompt.text))
    reasoning = tokenize_answer(_REASONING, prompt) if script.reasoning else []
    content = write_wrong_format(prompt) if fault == "wrong_format" else script.answer(prompt)
    if _refuses(script, prompt, body):
        content = _REFUSAL
    for stop in body.get("stop") or ():
        content = content.partition(stop)[0]
    tokens = tokenize_answer(content, prompt)
    limit = body.get("max_completion_tokens") or script.max_model_len - prompt_tokens
    finish_reason = "length" if len(reasoning) + len(tokens) > limit else "stop"
    reasoning, tokens = reasoning[:limit], tokens[: max(limit - len(reasoning), 0)]
    message = {"role": "assistant", "content": "".join(tokens) or None}
    if script.reasoning:
        message[script.reasoning] = "".join(reasoning)
    with_logprobs = body.get("logprobs") and script.logprobs == "given"
    logprobs = {"content": write_logprobs(tokens, prompt, body.get("top_logprobs") or 0)} if with_logprobs else None
    answer = {
        "id": f"scripted-{sha256_of(prompt.identity)[:16]}",
        "object": "chat.completion",
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": finish_reason,
                "logprobs": logprobs,
            }
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": len(reasoning) + len(tokens),
            "total_tokens": prompt_tokens + len(reasoning) + len(tokens),
            "completion_tokens_details": {"reasoning_tokens": len(reasoning)},
        },
    }
    return Completion(damage(answer, fault, prompt.draw("fault")), reasoning, tokens)


def _refuses(script: Script, prompt: ScriptedPrompt, body: Mapping[str, Any]) -> bool:
    """Return whether the script refuses to answer about the genes of a prompt, under the request's seed."""
    if script.refusing_seed is None or body.get("seed") != script.refusing_seed:
        return False
    digest = hashlib.sha256(f"{script.seed} {find_genes(prompt.text)}".encode()).digest()
    return int.from_bytes(digest[:7]) / 2**56 < script.refused


def write_fields(prompt: ScriptedPrompt) -> str | None:
    """Return every field that a DSPy prompt asks for, in its order and format; None for any other prompt."""
    request = _REQUEST.search(prompt.text.rstrip())
    if request is None:
        return None
    wanted = [name for name in _WANTED.findall(request[2]) if name != "completed"]
    values = _write_step(prompt) if "next_tool_name" in wanted else {name: _write_field(name, prompt) for name in wanted}
    if "JSON" in request[1]:
        return json.dumps({name: _json_value(values[name]) for name in wanted})
    return "\n\n".join([*(f"[[ ## {name} ## ]]\n{values[name]}" for name in wanted), _END])


def _json_value(text: str) -> object:
    """Return the arguments of a tool as an object; any other text unchanged."""
    return json.loads(text) if text.startswith("{") else text


def _write_step(prompt: ScriptedPrompt) -> dict[str, str]:
    tools = {name: literal_eval(arguments) for name, arguments in _tools(prompt.text)}
    steps = len(_STEP.findall(prompt.text))
    names = [name for name in tools if name != "finish"]
    if not names or steps > _MAX_STEPS * prompt.draw("steps") or steps >= _MAX_STEPS:
        return {"next_thought": "This is enough; no model thought so.", "next_tool_name": "finish", "next_tool_args": "{}"}
    chosen = names[int(len(names) * prompt.draw("tool"))]
    arguments = json.dumps({name: _argument(name, prompt) for name in tools[chosen]})
    return {"next_thought": f"Step {steps + 1}: ask {chosen}.", "next_tool_name": chosen, "next_tool_args": arguments}


def _tools(prompt: str) -> list[tuple[str, str]]:
    return [tool for line in prompt.splitlines() for tool in _TOOL.findall(line)]


def _argument(name: str, prompt: ScriptedPrompt) -> str:
    fields = dict(_FIELD.findall(prompt.text))
    question = _QUESTION.search(fields.get("question", ""))
    pert, gene = question.groups() if question else (fields.get("perturbed_gene", "Abc1"), fields.get("target_gene", "Xyz2"))
    if name == "question":
        return f"What is known of {pert} and {gene}?"
    return str({"pert": pert, "gene": gene}.get(name, pert if prompt.draw("symbol") < 0.5 else gene))


def _write_field(name: str, prompt: ScriptedPrompt) -> str:
    if name.startswith("p_"):
        return str(round(100 * prompt.draw(name)))
    if name == "answer" and "A) up" in prompt.text:
        return "ABC"[int(3 * prompt.draw(name))]
    return f"A scripted {name.replace('_', ' ')}, which no model wrote."
