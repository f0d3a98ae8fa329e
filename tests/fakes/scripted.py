"""The simulated model with what tests need: counts, faults, limits, and the formats of debates that are read.

`python -m tests.fakes.scripted --port 8000` serves it in a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from core.llm.scripted_server import (
    MODEL,
    REASONING,
    Completion,
    ScriptedPrompt,
    completion,
    count_tokens,
    find_genes,
    read_prompt,
    scripted_probabilities,
    stream_parts,
)
from core.llm.scripted_server import write_reply as write_plain_reply
from tests.fakes import http_server
from tests.fakes.faults import COUNTED, UNBROKEN, Faults, damage, draw_fault, respond
from tests.fakes.http_server import (
    ReceivedRequest,
    Response,
    ServerResponse,
    StreamedResponse,
    json_response,
)

__all__ = [
    "MODEL",
    "Faults",
    "ScriptedPrompt",
    "find_genes",
    "read_prompt",
    "scripted_probabilities",
]
_CLAIM = re.compile(r"\b([A-Z]\w*) (activates|represses|regulates|binds) ([A-Z]\w*)")
_NO_ANSWERS = (
    "It could be A or B.",
    "<answer>perhaps</answer>",
    "<prob>high</prob>",
    "The evidence is mixed.",
)


def write_reply(prompt: ScriptedPrompt) -> str:
    """A reply in the format that the prompt shows last, with those of points and claims."""
    asked = prompt.asked.lower()
    last = max(('{"points"', '{"claims"', "<prob>", "<answer>", "answer:"), key=asked.rfind)
    if last == '{"points"' in asked:
        return _write_points(prompt.sentences)
    if last == '{"claims"' in asked:
        found = [
            (each, sentence) for sentence in prompt.sentences for each in _CLAIM.finditer(sentence)
        ]
        claims = [
            {"subject": a[1], "relation": a[2], "object": a[3], "quote": said} for a, said in found
        ]
        return json.dumps({"claims": claims})
    return write_plain_reply(prompt)


def _write_points(sentences: list[str]) -> str:
    """First sentences of two sides as points: the second answers the first, which the judge takes up."""
    first = {}
    for speaker, sentence in pairwise(sentences):
        if re.fullmatch("[A-Z_]+:", speaker):
            first.setdefault(speaker[:-1], sentence)
    points = [
        {"side": side, "point": first[side], "answer": "", "verdict": ""}
        for side in first
        if side != "JUDGE"
    ][:2]
    if len(points) > 1:
        points[0] |= {"answer": points[1]["point"], "verdict": first.get("JUDGE", "")}
    return json.dumps({"points": points})


@dataclass(frozen=True, slots=True)
class Script:
    """The behaviour of a scripted server: equal scripts and requests give equal answers and faults, in any order.

    retry_after_s: of a 429. logprobs: given, refused with a 400, or left out of the answer. api_key: required unless ""; a
    wrong one is repeated in the error. at_once: how many answers are made at a time; None for any. streams: whether it streams
    at all, or refuses to with a 400.
    """

    seed: int = 0
    faults: Faults = field(default_factory=Faults)
    delay_s: float = 0.0
    token_s: float = 0.0
    retry_after_s: float = 1.0
    reasoning: bool = True
    logprobs: Literal["given", "refused", "left out"] = "given"
    tokenizer: bool = True
    max_model_len: int = 131_072
    api_key: str = ""
    answer: Callable[[ScriptedPrompt], str] = write_reply
    at_once: int | None = None
    streams: bool = True


@contextmanager
def serving(script: Script | None = None, port: int = 0) -> Iterator[str]:
    """Run a server in a thread of its own until the block ends; gives its address, which ends in /v1."""
    with http_server.serve_in_thread(
        ScriptedModel(script or Script()).answer, MODEL, port
    ) as address:
        yield f"{address}/v1"


def request_counts(base_url: str) -> dict[str, int]:
    """Requests by path, faults by name, "most at once", "streams", and "answers" that clients received, with their "tokens"."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{base_url}/counts", timeout=10) as answer:
        return dict(json.load(answer))


class ScriptedModel:
    """Answers the requests of one server, and counts them."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.counts: Counter[str] = Counter()
        self._arrivals: Counter[str] = Counter()
        self._concurrent = 0
        self._slots = (
            contextlib.nullcontext()
            if script.at_once is None
            else asyncio.Semaphore(script.at_once)
        )

    async def answer(
        self, request: ReceivedRequest, reader: asyncio.StreamReader
    ) -> Response | None:
        """Return the response; None closes the connection without one."""
        if request.path == "/v1/counts":
            return json_response(200, self.counts)
        self.counts[request.path] += 1
        key = request.headers.get("authorization", "")
        if self.script.api_key and key != f"Bearer {self.script.api_key}":
            return _error(401, f"Incorrect API key provided: {key.removeprefix('Bearer ')}.")
        if request.path == "/v1/models":
            listed = {"id": MODEL, "object": "model", "max_model_len": self.script.max_model_len}
            return json_response(200, {"object": "list", "data": [listed]})
        body = json.loads(request.body)
        if request.path == "/tokenize" and self.script.tokenizer:
            return json_response(
                200,
                {"count": count_tokens(body["prompt"]), "max_model_len": self.script.max_model_len},
            )
        if request.path == "/v1/chat/completions":
            return self._refuse(body) or await self._chat(body, reader)
        return _error(404, f"{request.path} is not served.")

    def _refuse(self, body: Mapping[str, Any]) -> Response | None:
        script, n_prompt = self.script, count_tokens(read_prompt(body, 0).text)
        if body["model"] != MODEL:
            return _error(404, f"The model `{body['model']}` does not exist, only `{MODEL}`.")
        if body.get("logprobs") and script.logprobs == "refused":
            return _error(400, "logprobs are not supported by this server.")
        if body.get("stream") and not script.streams:
            return _error(400, "stream=true is not supported by this server.")
        if n_prompt + (body.get("max_completion_tokens") or 1) > script.max_model_len:
            return _error(
                400, f"This model's maximum context length is {script.max_model_len} tokens."
            )
        return None

    async def _chat(self, body: dict[str, Any], reader: asyncio.StreamReader) -> Response | None:
        script, counts = self.script, self.counts
        asked = json.dumps(
            {name: value for name, value in body.items() if not name.startswith("stream")}
        )
        fault = draw_fault(script.faults, script.seed, asked.encode(), self._arrivals[asked])
        self._arrivals[asked] += 1
        counts[fault] += bool(fault)
        self._concurrent += 1
        counts["most at once"] = max(self._concurrent, counts["most at once"])
        try:
            made = self._complete(body, fault)
            async with self._slots:
                await asyncio.sleep(script.delay_s)
        finally:
            self._concurrent -= 1
        if fault == "hang":
            await reader.read()  # until the client leaves
        if (
            fault in COUNTED and not reader.at_eof() and reader.exception() is None
        ):  # the client waits, and can read it
            counts["answers"] += 1
            counts["tokens"] += made.answer["usage"]["total_tokens"]
        parts = stream_parts(*made) if body.get("stream") else [json.dumps(made.answer).encode()]
        if body.get("stream") and fault in UNBROKEN:
            counts["streams"] += 1
            return StreamedResponse(parts, script.token_s)
        return respond(
            b"".join(parts),
            fault,
            read_prompt(body, script.seed).draw("fault"),
            script.retry_after_s,
        )

    def _complete(self, body: Mapping[str, Any], fault: str) -> Completion:
        script, prompt = self.script, read_prompt(body, self.script.seed)
        text = script.answer(prompt)
        if fault == "wrong_format":
            text = prompt.choose("odd", _NO_ANSWERS)
        made = completion(body, prompt, text, REASONING if script.reasoning else "")
        if script.logprobs == "left out":
            made.answer["choices"][0]["logprobs"] = None
        damaged = damage(made.answer, fault, prompt.draw("fault"))
        return Completion(damaged, made.reasoning, () if fault == "empty" else made.content)


def _error(status: int, message: str) -> ServerResponse:
    return json_response(status, {"error": {"message": message, "code": status}})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--delay-ms", type=float, default=0.0)
    parser.add_argument("--at-once", type=int)
    options = parser.parse_args()
    model = ScriptedModel(Script(delay_s=options.delay_ms / 1000, at_once=options.at_once))
    asyncio.run(
        http_server.LoopbackServer(model.answer).run(
            options.port, lambda url: print(f"{MODEL}: {url}/v1", flush=True)
        )
    )


if __name__ == "__main__":
    main()
