"""The stream of the scripted server: an answer in chunks of one token each, as the OpenAI protocol has it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def stream_parts(answer: Mapping[str, Any], reasoning: Sequence[str], content: Sequence[str], usage: bool) -> Iterator[bytes]:
    """Yields the events of an answer; its reasoning and content are cut into these tokens. usage: whether it comes last.

    An answer that a fault has changed streams as it was changed: without choices, or without content.
    """
    head = {name: value for name, value in answer.items() if name not in ("choices", "usage")}
    head["object"] = "chat.completion.chunk"
    for choice in answer["choices"]:
        yield from (_event({**head, "choices": [part]}) for part in _choice_parts(choice, reasoning, content))
    if not answer["choices"]:
        yield _event({**head, "choices": []})
    if usage:
        yield _event({**head, "choices": [], "usage": answer["usage"]})
    yield b"data: [DONE]\n\n"


def _choice_parts(choice: Mapping[str, Any], reasoning: Sequence[str], content: Sequence[str]) -> Iterator[dict[str, Any]]:
    message, logprobs = choice["message"], choice["logprobs"]
    rest: dict[str, Any] = {"index": choice["index"], "finish_reason": None, "logprobs": None}
    yield {**rest, "delta": {"role": message["role"]}}
    field = next((name for name in message if name.startswith("reasoning")), "")
    yield from ({**rest, "delta": {field: token}} for token in (reasoning if field else ()))
    for i, token in enumerate(content if message["content"] is not None else ()):
        yield {**rest, "delta": {"content": token}, "logprobs": logprobs and {"content": [logprobs["content"][i]]}}
    yield {**rest, "delta": {}, "finish_reason": choice["finish_reason"]}


def _event(chunk: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"
