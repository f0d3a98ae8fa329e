"""The answers of the scripted server to chat requests: the JSON of a completion, an agent's fields, or a fault of its script."""

from __future__ import annotations

import hashlib
import json
import math
import re
from ast import literal_eval
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from core.llm.scripted_text import ScriptedPrompt, tokenize, tokenize_answer, write_answer, write_logprobs, write_wrong_format

MODEL = "scripted"
_REASONING = "Scripted reasoning, which no model did. The answer follows from a hash of the request."
_NO_NUMBERS = (math.nan, -math.inf, -9999.0, None)

# Of an agent, whose prompts DSPy writes: it takes one to four steps, each with a tool of the list and symbols of the pair.
_END = "[[ ## completed ## ]]"
_REQUEST = re.compile(r"\nRespond with (a JSON object|the corresponding output fields)([^\n]*)\Z")
_MAX_STEPS = 4
_FIELD = re.compile(r"\[\[ ## (\w+) ## \]\]\n([^\n]*)")
_WANTED = re.compile(r"`(?:\[\[ ## )?(\w+)(?: ## \]\])?`")
_TOOL = re.compile(r"\(\d+\) (\w+), whose description is <desc>.*?</desc>\. It takes arguments (\{.*\})\.", re.DOTALL)
_QUESTION = re.compile(r"What is known of (\S+) and (\S+)\?")
_STEP = re.compile(r"\[\[ ## thought_\d+ ## \]\]")


@dataclass(frozen=True, slots=True)
class Faults:
    """The share of chat requests that get each fault, in [0, 1]; the shares sum to at most 1.

    error: 500. busy: 429 with Retry-After. dropped: the connection is closed without an answer. half: half of the JSON.
    empty: null content. hang: no answer until the client closes the connection. not_finite: log-probabilities of NaN,
    −Infinity, −9999 or null, if the request asks for any. wrong_format: text without an answer.
    """

    error: float = 0.0
    busy: float = 0.0
    dropped: float = 0.0
    half: float = 0.0
    empty: float = 0.0
    hang: float = 0.0
    not_finite: float = 0.0
    wrong_format: float = 0.0

    @classmethod
    def each(cls, rate: float) -> Faults:
        """Every fault with the same share."""
        return cls(*(rate for _ in fields(cls)))


def write_reply(prompt: ScriptedPrompt) -> str:
    """The fields that an agent's prompt asks for, or an answer in the format of any other prompt."""
    text = write_fields(prompt)
    return write_answer(prompt) if text is None else text


@dataclass(frozen=True, slots=True)
class Script:
    """The behaviour of a scripted server: equal scripts and requests give equal answers and faults, in any order.

    retry_after_s: of a 429. reasoning: the field that holds the reasoning; None for no reasoning. logprobs: given, refused
    with a 400, or left out of the answer. api_key: required unless ""; a wrong one is repeated in the error. answer: writes
    the reply to a prompt, by default in the format that the prompt shows.
    """

    seed: int = 0
    faults: Faults = Faults()
    delay_s: float = 0.0
    retry_after_s: float = 1.0
    reasoning: Literal["reasoning", "reasoning_content"] | None = "reasoning"
    logprobs: Literal["given", "refused", "left out"] = "given"
    tokenizer: bool = True
    max_model_len: int = 131_072
    api_key: str = ""
    answer: Callable[[ScriptedPrompt], str] = write_reply


def fault_of(script: Script, body: bytes, attempt: int) -> str:
    """The name of the fault of a request at its `attempt`-th arrival, "" for none."""
    digest = hashlib.sha256(f"{script.seed} {attempt} ".encode() + body).digest()
    left = int.from_bytes(digest[:7]) / 2**56
    for fault in fields(Faults):
        left -= getattr(script.faults, fault.name)
        if left < 0:
            return fault.name
    return ""


def completion(script: Script, prompt: ScriptedPrompt, body: Mapping[str, Any], fault: str) -> dict[str, Any]:
    """The JSON of a completion; the token limit counts reasoning first, as with models that reason."""
    prompt_tokens = len(tokenize(prompt.text))
    reasoning = tokenize_answer(_REASONING, prompt) if script.reasoning else []
    content = write_wrong_format(prompt) if fault == "wrong_format" else script.answer(prompt)
    for stop in body.get("stop") or ():
        content = content.partition(stop)[0]
    tokens = tokenize_answer(content, prompt)
    limit = body.get("max_completion_tokens") or script.max_model_len - prompt_tokens
    finish_reason = "length" if len(reasoning) + len(tokens) > limit else "stop"
    reasoning, tokens = reasoning[:limit], tokens[: max(limit - len(reasoning), 0)]
    message = {"role": "assistant", "content": None if fault == "empty" else "".join(tokens) or None}
    if script.reasoning:
        message[script.reasoning] = "".join(reasoning)
    with_logprobs = body.get("logprobs") and script.logprobs == "given"
    return {
        "id": f"scripted-{hashlib.sha256(prompt.identity.encode()).hexdigest()[:16]}",
        "object": "chat.completion",
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": finish_reason,
                "logprobs": {"content": _logprobs(tokens, prompt, body, fault)} if with_logprobs else None,
            }
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": len(reasoning) + len(tokens),
            "total_tokens": prompt_tokens + len(reasoning) + len(tokens),
            "completion_tokens_details": {"reasoning_tokens": len(reasoning)},
        },
    }


def _logprobs(tokens: list[str], prompt: ScriptedPrompt, body: Mapping[str, Any], fault: str) -> list[dict[str, Any]]:
    entries = write_logprobs(tokens, prompt, body.get("top_logprobs") or 0)
    if fault == "not_finite":
        missing = _NO_NUMBERS[int(len(_NO_NUMBERS) * prompt.draw("no number"))]
        for token in entries:
            for entry in (token, *token["top_logprobs"]):
                entry["logprob"] = missing
    return entries


def write_fields(prompt: ScriptedPrompt) -> str | None:
    """Every field that a DSPy prompt asks for, in its order and format; None for any other prompt."""
    request = _REQUEST.search(prompt.text.rstrip())
    if request is None:
        return None
    wanted = [name for name in _WANTED.findall(request[2]) if name != "completed"]
    values = _write_step(prompt) if "next_tool_name" in wanted else {name: _write_field(name, prompt) for name in wanted}
    if "JSON" in request[1]:
        return json.dumps({name: _json_value(values[name]) for name in wanted})
    return "\n\n".join([*(f"[[ ## {name} ## ]]\n{values[name]}" for name in wanted), _END])


def _json_value(text: str) -> object:
    """The arguments of a tool as an object; any other text unchanged."""
    return json.loads(text) if text.startswith("{") else text


def _write_step(prompt: ScriptedPrompt) -> dict[str, str]:
    tools = {name: literal_eval(arguments) for name, arguments in _tools(prompt.text)}
    steps = len(_STEP.findall(prompt.text))
    if steps > _MAX_STEPS * prompt.draw("steps") or steps >= _MAX_STEPS:
        return {"next_thought": "This is enough; no model thought so.", "next_tool_name": "finish", "next_tool_args": "{}"}
    names = [name for name in tools if name != "finish"]
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
