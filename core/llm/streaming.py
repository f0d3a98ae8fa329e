"""Answers that come in pieces: the server-sent events of the OpenAI protocol, and the whole answer that they make.

What is made of a stream is the JSON of the answer that the same request gives without one: it is kept, parsed and cached alike.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from core.llm.answers import read_json
from core.llm.endpoint import Method
from core.llm.messages import Request
from core.net.retry import Fault
from core.net.scrubber import Scrubber
from core.net.transport import OnPart

CHAT = "/chat/completions"
# Each token of a stream comes in an envelope: it may have so many times the bytes of its answer, but no more than these.
TRANSIT, MOST_IN_TRANSIT = 64, 1 << 27
_MENTIONS_STREAMS = re.compile(r"\bstream", re.IGNORECASE)
_FIELDS = ("data", "event", "id", "retry")
_END = "[DONE]"
_LINE_ENDS = re.compile(r"\r\n|\n|\r")
_REASONING = ("reasoning", "reasoning_content")


class Words(NamedTuple):
    """What is new of an answer. attempt: of the call, 1 for the first; what came under an earlier one is not the answer."""

    content: str
    reasoning: str
    attempt: int


OnWords = Callable[[Words], object]


class Sends(Protocol):
    """What a streamed request is sent by: a model server (see `core.llm.client.Server`)."""

    async def send(
        self, method: Method, url: str, body: str | None = None, max_bytes: int | None = None, on_part: OnPart | None = None
    ) -> str | Fault: ...


async def send_streamed(
    server: Sends, request: Request, most: int, say: Callable[[str, str], object], scrub: Scrubber
) -> str | Fault:
    """Asks for a stream; returns the JSON of the whole answer. most: of its bytes. say: takes content and reasoning as they come.
    scrub: takes secrets out of both, also one that comes in pieces.

    A stream that breaks off or holds no JSON is a fault that may be retried, as a broken answer is.
    """
    reader, content, reasoning = EventReader(), _Shown(scrub), _Shown(scrub)

    def take(part: bytes) -> None:
        for chunk in reader.read(part):
            texts = [shown.add(text) for shown, text in zip((content, reasoning), read_delta(chunk), strict=True)]
            if any(texts):
                say(*texts)

    text = await server.send("POST", CHAT, stream_text(request), max(most, min(TRANSIT * most, MOST_IN_TRANSIT)), take)
    if isinstance(text, Fault):
        return text
    try:
        whole = scrub(join_stream(text))
    except ValueError as error:
        return Fault("malformed", str(error), retryable=True, raw=text)
    rest = content.end(), reasoning.end()
    if any(rest):
        say(*rest)
    if len(whole.encode()) > most:
        return Fault("malformed", f"an answer of more than {most:,} bytes", raw=whole)
    return whole


class _Shown:
    """What is shown of a text that comes in pieces: its end waits as long as it may be the beginning of a secret."""

    def __init__(self, scrub: Scrubber) -> None:
        self._scrub, self._rest = scrub, ""

    def add(self, text: str) -> str:
        """Returns what can be shown now."""
        shown, self._rest = self._scrub.split(self._rest + text)
        return shown

    def end(self) -> str:
        """Returns what is left, at the end of the text."""
        shown, self._rest = self._rest, ""
        return self._scrub(shown)


def stream_text(request: Request) -> str:
    """The JSON text of a request for a stream with its usage."""
    body = {**request.body, "stream": True, "stream_options": {"include_usage": True}}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def refuses_streams(outcome: str | Fault) -> bool:
    """Whether a server rejects a request because it asks for a stream."""
    return isinstance(outcome, Fault) and outcome.kind == "refused" and bool(_MENTIONS_STREAMS.search(outcome.message))


class EventReader:
    """Reads the chunks of a stream from bytes, however they are cut; what is no chunk is passed over."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def read(self, part: bytes) -> list[Any]:
        """Returns the chunks that are whole now, in order."""
        begin = len(self._buffer)
        self._buffer += part
        end = self._buffer.rfind(b"\n", begin)
        if end < 0:
            return []
        lines = bytes(self._buffer[:end]).decode("utf-8", "replace")
        del self._buffer[: end + 1]
        chunks = []
        for data in _data_lines(lines):
            with contextlib.suppress(ValueError):  # whoever joins the stream refuses it
                chunks.append(None if data == _END else read_json(data))
        return chunks


def read_delta(chunk: Any) -> tuple[str, str]:
    """The content and the reasoning that a chunk adds to the first choice, "" for none."""
    match chunk:
        case {"choices": [{"delta": {**delta}}, *_]}:
            texts = {name: value for name, value in delta.items() if isinstance(value, str)}
            return texts.get("content", ""), next((texts[name] for name in _REASONING if name in texts), "")
    return "", ""


@dataclass(slots=True)
class _Choice:
    """One choice of an answer, as far as it has come."""

    message: dict[str, Any] = field(default_factory=dict)
    rest: dict[str, Any] = field(default_factory=dict)

    def add(self, choice: Mapping[str, Any]) -> None:
        delta = choice.get("delta")
        for name, value in (delta if isinstance(delta, Mapping) else {}).items():
            before = self.message.get(name)
            is_more = isinstance(before, str) and isinstance(value, str) and name != "role"
            self.message[name] = before + value if is_more else before if value is None else value
        for name, value in choice.items():
            if name == "logprobs":
                self.rest[name] = _join_logprobs(self.rest.get(name), value)
            elif name != "delta" and (value is not None or name not in self.rest):
                self.rest[name] = value

    def as_json(self, index: int) -> dict[str, Any]:
        message = {"role": "assistant", "content": None, **self.message}
        return {"index": index, "message": message, "finish_reason": None, "logprobs": None, **self.rest}


def _join_logprobs(before: Any, value: Any) -> Any:
    """The log-probabilities of more tokens behind those before; a value of another shape in place of all."""
    if value is None:
        return before
    if not isinstance(before, dict) or not isinstance(value, dict):
        return value
    joined = dict(before)
    for name, entries in value.items():
        both = isinstance(joined.get(name), list) and isinstance(entries, list)
        joined[name] = [*joined[name], *entries] if both else entries if entries is not None else joined.get(name)
    return joined


def join_stream(text: str) -> str:
    """Returns the JSON of the whole answer that a stream holds; a text that is no stream as it is, and so an error in a stream.

    Raises ValueError, with what is wrong in words, for a stream that broke off, and for chunks that are no JSON objects.
    """
    if not is_stream(text):
        return text
    head: dict[str, Any] = {}
    choices: dict[int, _Choice] = {}
    usage: dict[str, Any] = {}
    is_ended = False
    for data in _data_lines(text):
        if data == _END:
            is_ended = True
            break
        chunk = _read_chunk(data)
        if "error" in chunk and not chunk.get("choices"):
            return json.dumps(chunk)
        head |= {name: value for name, value in chunk.items() if name not in head and name not in ("choices", "usage")}
        if chunk.get("usage") is not None:
            usage = {"usage": chunk["usage"]}
        for place, choice in enumerate(chunk.get("choices") or ()):
            if not isinstance(choice, Mapping):
                raise ValueError("a stream with a choice that is no JSON object")
            index = choice.get("index")
            choices.setdefault(index if isinstance(index, int) else place, _Choice()).add(choice)
    found = [choices[index].as_json(index) for index in sorted(choices)]
    if not is_ended and not (found and found[0]["finish_reason"]):
        said = len(found[0]["message"]["content"] or "") if found and isinstance(found[0]["message"]["content"], str) else 0
        raise ValueError(f"a stream that broke off after {said:,} characters")
    return json.dumps({**head, "object": "chat.completion", "choices": found, **usage})


def is_stream(text: str) -> bool:
    """Whether a text is a stream of events: its first line that is neither empty nor a remark begins with one of their fields."""
    first = next((line for line in _lines(text) if line.strip() and not line.startswith(":")), "")
    name, colon, _ = first.partition(":")
    return bool(colon) and name in _FIELDS


def _lines(text: str) -> list[str]:
    return _LINE_ENDS.split(text)  # JSON may hold the other line ends of Unicode as they are


def _data_lines(text: str) -> Iterator[str]:
    for line in _lines(text):
        data = _data_of(line)
        if data:
            yield data


def _data_of(line: str) -> str:
    return line.removeprefix("data:").strip() if line.startswith("data:") else ""


def _read_chunk(data: str) -> dict[str, Any]:
    try:
        chunk = read_json(data)
    except ValueError as error:
        raise ValueError(f"a stream with a chunk that is no JSON ({error})") from error
    if not isinstance(chunk, dict):
        raise ValueError(f"a stream with a chunk of type {type(chunk).__name__}")
    return chunk
