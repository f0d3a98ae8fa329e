"""What the scripted server answers a chat request with: the JSON of a completion, or one of the faults of its script."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from core.llm.scripted_agent import by_fields
from core.llm.scripted_text import Ask, by_prompt, logprobs, pieces, tokens, wrong_format

MODEL = "scripted"
_REASONING = "Scripted reasoning, which no model did. The answer follows from a hash of the request."
_NO_NUMBERS = (math.nan, -math.inf, -9999.0, None)


@dataclass(frozen=True, slots=True)
class Faults:
    """The share of chat requests that meet each fault, in [0, 1]; together at most 1.

    error: 500. busy: 429 with Retry-After. dropped: the connection ends without an answer. half: half of the JSON. empty:
    null content. hang: no answer until the client leaves. not_finite: log-probabilities of NaN, −Infinity, −9999 or null,
    where any were asked for. wrong_format: text without an answer.
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
        """Every fault at the same rate."""
        return cls(*(rate for _ in fields(cls)))


def as_asked(ask: Ask) -> str:
    """What an agent's prompt asks for, else what any other does."""
    fields_said = by_fields(ask)
    return by_prompt(ask) if fields_said is None else fields_said


@dataclass(frozen=True, slots=True)
class Script:
    """How a scripted server behaves; the same script and requests give the same answers and faults, in any order.

    retry_after_s: what a 429 asks for. reasoning: the name under which reasoning is given; None gives none. logprobs: given,
    refused with a 400, or left out of the answer. api_key: asked for where not "", and a wrong one is echoed. answer: what
    to say; by default in the format that the prompt shows.
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
    answer: Callable[[Ask], str] = as_asked


def fault_of(script: Script, body: bytes, attempt: int) -> str:
    """The name of the fault that a request meets the `attempt`-th time it comes, "" for none."""
    digest = hashlib.sha256(f"{script.seed} {attempt} ".encode() + body).digest()
    left = int.from_bytes(digest[:7]) / 2**56
    for fault in fields(Faults):
        left -= getattr(script.faults, fault.name)
        if left < 0:
            return fault.name
    return ""


def completion(script: Script, ask: Ask, body: Mapping[str, Any], fault: str) -> dict[str, Any]:
    """The JSON of a completion; reasoning counts towards the budget first, as with models that reason."""
    prompt_tokens = len(tokens(ask.prompt))
    thought = pieces(_REASONING, ask) if script.reasoning else []
    content = wrong_format(ask) if fault == "wrong_format" else script.answer(ask)
    for stop in body.get("stop") or ():
        content = content.partition(stop)[0]
    said = pieces(content, ask)
    budget = body.get("max_completion_tokens") or script.max_model_len - prompt_tokens
    finish_reason = "length" if len(thought) + len(said) > budget else "stop"
    thought, said = thought[:budget], said[: max(budget - len(thought), 0)]
    message = {"role": "assistant", "content": None if fault == "empty" else "".join(said) or None}
    if script.reasoning:
        message[script.reasoning] = "".join(thought)
    given = body.get("logprobs") and script.logprobs == "given"
    return {
        "id": f"scripted-{hashlib.sha256(ask.identity.encode()).hexdigest()[:16]}",
        "object": "chat.completion",
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": finish_reason,
                "logprobs": {"content": _logprobs(said, ask, body, fault)} if given else None,
            }
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": len(thought) + len(said),
            "total_tokens": prompt_tokens + len(thought) + len(said),
            "completion_tokens_details": {"reasoning_tokens": len(thought)},
        },
    }


def _logprobs(said: list[str], ask: Ask, body: Mapping[str, Any], fault: str) -> list[dict[str, Any]]:
    entries = logprobs(said, ask, body.get("top_logprobs") or 0)
    if fault == "not_finite":
        nothing = _NO_NUMBERS[int(len(_NO_NUMBERS) * ask.draw("no number"))]
        for place in entries:
            for entry in (place, *place["top_logprobs"]):
                entry["logprob"] = nothing
    return entries
