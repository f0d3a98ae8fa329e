"""The answers of the scripted server to chat requests: the JSON of a completion, or one of the faults of its script."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from core.llm.scripted_agent import write_fields
from core.llm.scripted_text import ScriptedPrompt, tokenize, tokenize_answer, write_answer, write_logprobs, write_wrong_format

MODEL = "scripted"
_REASONING = "Scripted reasoning, which no model did. The answer follows from a hash of the request."
_NO_NUMBERS = (math.nan, -math.inf, -9999.0, None)


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
