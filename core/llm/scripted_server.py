"""A server of the OpenAI protocol without a model: for tests, the demo, and trying the settings of a run.

It listens on this machine only, serves a model named "scripted", gives equal requests equal answers (scripted_text), and
fails as often and in the ways that its script says (scripted_replies): `python -m core.llm.scripted_server --port 8000`.

The stream of the scripted server: an answer in chunks of one token each, as the OpenAI protocol has it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from core.errors import InputError
from core.llm.scripted_faults import COUNTED, UNBROKEN, Faults, draw_fault, respond
from core.llm.scripted_replies import MODEL, Completion, Script, completion
from core.llm.scripted_text import ScriptedPrompt, read_prompt, tokenize
from core.net import testing
from core.net.testing import ReceivedRequest, Response, ServerResponse, StreamedResponse, json_response

__all__ = ["MODEL", "Faults", "Script", "request_counts", "serving"]
CHAT, MODELS, COUNTS, TOKENIZE = "/v1/chat/completions", "/v1/models", "/v1/counts", "/tokenize"


@contextmanager
def serving(script: Script | None = None, port: int = 0) -> Iterator[str]:
    """Run a server in a thread of its own until the block ends; gives its address, which ends in /v1.

    port: 0 for any that is free.
    """
    with testing.serve_in_thread(_ScriptedModel(script or Script()).answer, MODEL, port) as address:
        yield f"{address}/v1"


def request_counts(base_url: str) -> dict[str, int]:
    """Return the counts of a scripted server so far.

    They are requests by path, faults by name, "most at once", "streams" begun, and "answers" received by clients that were still
    connected, with their "tokens".
    """
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{base_url}/counts", timeout=10) as answer:
        return dict(json.load(answer))


class _ScriptedModel:
    """Answers the requests of one server, and counts them."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.counts: Counter[str] = Counter()
        self._arrivals: Counter[bytes] = Counter()
        self._concurrent = 0
        self._slots = contextlib.nullcontext() if script.at_once is None else asyncio.Semaphore(script.at_once)

    async def answer(self, request: ReceivedRequest, reader: asyncio.StreamReader) -> Response | None:
        """Return the response; None closes the connection without one."""
        if request.path == COUNTS:
            return json_response(200, self.counts)
        self.counts[request.path] += 1
        key = request.headers.get("authorization", "")
        if self.script.api_key and key != f"Bearer {self.script.api_key}":
            return _error(401, f"Incorrect API key provided: {key.removeprefix('Bearer ')}.")
        if request.path == MODELS:
            listed = {"id": MODEL, "object": "model", "owned_by": "perturbdesk", "max_model_len": self.script.max_model_len}
            return json_response(200, {"object": "list", "data": [listed]})
        try:
            body = json.loads(request.body)
            if request.path == TOKENIZE and self.script.tokenizer:
                return json_response(200, {"count": len(tokenize(body["prompt"])), "max_model_len": self.script.max_model_len})
            if request.path == CHAT:
                return await self._chat(request, body, read_prompt(body, self.script.seed), reader)
        except (ValueError, KeyError, TypeError):
            return _error(400, "The body is not the JSON of a request.")
        return _error(404, f"{request.path} is not served.")

    async def _chat(
        self, request: ReceivedRequest, body: dict[str, Any], prompt: ScriptedPrompt, reader: asyncio.StreamReader
    ) -> Response | None:
        if body["model"] != MODEL:
            return _error(404, f"The model `{body['model']}` does not exist, only `{MODEL}`.")
        if body.get("logprobs") and self.script.logprobs == "refused":
            return _error(400, "logprobs are not supported by this server.")
        if body.get("stream") and not self.script.streams:
            return _error(400, "stream=true is not supported by this server.")
        limit = body.get("max_completion_tokens") or 1
        if len(tokenize(prompt.text)) + limit > self.script.max_model_len:
            return _error(400, f"This model's maximum context length is {self.script.max_model_len} tokens.")
        asked = _without_stream(request.body, body)
        fault = draw_fault(self.script.faults, self.script.seed, asked, self._arrivals[asked])
        self._arrivals[asked] += 1
        if fault:
            self.counts[fault] += 1
        self._concurrent += 1
        self.counts["most at once"] = max(self._concurrent, self.counts["most at once"])
        try:
            return await self._delayed_response(body, completion(self.script, prompt, body, fault), fault, prompt, reader)
        finally:
            self._concurrent -= 1

    async def _delayed_response(
        self, body: dict[str, Any], made: Completion, fault: str, prompt: ScriptedPrompt, reader: asyncio.StreamReader
    ) -> Response | None:
        """Return the completion or the fault, after the script's delay."""
        async with self._slots:
            await asyncio.sleep(self.script.delay_s)
        if fault == "hang":
            await reader.read()  # until the client leaves
        if fault in COUNTED and not reader.at_eof() and reader.exception() is None:  # the client waits for it, and can read it
            self.counts["answers"] += 1
            self.counts["tokens"] += made.answer["usage"]["total_tokens"]
        draws = (prompt.draw("fault"), self.script.retry_after_s, self.script.drip_s)
        if not body.get("stream"):
            return respond(json.dumps(made.answer).encode(), fault, *draws)
        parts = stream_parts(*made, bool((body.get("stream_options") or {}).get("include_usage")))
        if fault in UNBROKEN:
            self.counts["streams"] += 1
            return StreamedResponse(parts, self.script.token_s)
        return respond(b"".join(parts), fault, *draws)


def _without_stream(text: bytes, body: dict[str, Any]) -> bytes:
    """Return the body of a request as it would be without a stream: its faults are the same."""
    if not body.get("stream"):
        return text
    rest = {name: value for name, value in body.items() if not name.startswith("stream")}
    return json.dumps(rest, ensure_ascii=False, separators=(",", ":")).encode()


def _error(status: int, message: str, *headers: tuple[str, str]) -> ServerResponse:
    return json_response(status, {"error": {"message": message, "code": status}}, *headers)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted, and return the exit status."""
    parser = argparse.ArgumentParser(
        "python -m core.llm.scripted_server", description="A server without a model, for trying things."
    )
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--delay-ms", type=float, default=0.0, help="how long each answer takes")
    parser.add_argument("--token-ms", type=float, default=0.0, help="how long each token of a stream takes")
    parser.add_argument("--at-once", type=int, help="how many answers are made at a time; by default any number")
    parser.add_argument("--faults", type=float, default=0.0, metavar="SHARE", help="how often each fault occurs, 0 to 0.037")
    options = parser.parse_args(arguments)
    try:
        faults = Faults.each(options.faults)
        token_s = options.token_ms / 1000
        script = Script(options.seed, faults, options.delay_ms / 1000, at_once=options.at_once, token_s=token_s)
    except InputError as error:
        parser.error(str(error))
    model = _ScriptedModel(script)
    server = testing.LoopbackServer(model.answer)
    try:
        asyncio.run(server.run(options.port, lambda url: print(f"{MODEL}: {url}/v1 (no model answers there)", flush=True)))
    except OSError as error:
        print(f"port {options.port}: cannot be served ({error})", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


def stream_parts(answer: Mapping[str, Any], reasoning: Sequence[str], content: Sequence[str], usage: bool) -> Iterator[bytes]:
    """Yield the events of an answer; its reasoning and content are cut into these tokens. usage: whether it comes last.

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


if __name__ == "__main__":
    sys.exit(main())
