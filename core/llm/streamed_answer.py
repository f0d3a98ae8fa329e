"""The server-sent events of a streamed answer, joined to the JSON of the whole answer while its
bytes arrive.

Time and memory grow only with the answer, whatever the server sends. The helper of the openai
package joins chunks too, but copies what came before with each chunk, and each log-probability
several times.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from core.base.net.transport import FarTooLong, TooLong
from core.base.texts import parse_json
from core.base.types import JsonObject
from core.llm.completion import MAX_CHARACTERS, THINKING, read_parts, text_of

MAX_LINE_BYTES = 1 << 20
MAX_RAW_BYTES = 100_000  # to save of a broken stream
MAX_FIELDS = 100  # of a message
STREAM_BEGINS = (b":", b"data:", b"event:", b"id:", b"retry:")
_BLANK = b"\xef\xbb\xbf \t\r\n"
_LINE_ENDS = re.compile(rb"[\r\n]")  # JSON may contain other Unicode line ends literally

Say = Callable[[str, str], object]


class StreamedAnswer:
    """The answer to a request for a stream.

    most: of its bytes. say: takes the content and the reasoning that each chunk adds.
    """

    def __init__(self, most: int, say: Say = lambda *_: None) -> None:
        self._most, self._say = most, say
        self._is_stream: bool | None = None  # None until enough has come to tell
        self._buffer = bytearray()  # what is not read yet; all of an answer that is no stream
        self._raw = bytearray()
        self._head: JsonObject = {}
        self._texts: dict[str, list[str]] = {}  # field of the message → its pieces
        self._fields: JsonObject = {}  # other fields of the message
        # field → the JSON of its entries, without brackets
        self._logprobs: dict[str, list[str]] = {}
        self._indices: set[str] = set()  # of choices
        self._finish_reason: Any = None
        self._usage: Any = None
        self._error: Mapping[str, Any] | None = None
        self._problem: ValueError | None = None
        self._is_ended = False
        self._size = 0  # bytes that are kept, about
        self.n_said = self._n_thought = 0  # characters

    @property
    def raw(self) -> str:
        """The beginning of what came."""
        return bytes(self._raw).decode("utf-8", "replace")

    @property
    def so_far(self) -> str:
        """The JSON of the chunks so far, "" without chunks."""
        return self._as_json() if self._is_stream else ""

    def take(self, part: bytes) -> bool:
        """Take what comes next; return whether no more is needed, since the answer is whole or
        cannot become one.

        Raise TooLong for an answer, a text or a line that is longer than allowed.
        """
        self._raw += part[: MAX_RAW_BYTES - len(self._raw)]
        searched = len(self._buffer)
        self._buffer += part
        if self._is_stream is None:
            head, searched = bytes(self._buffer[:MAX_LINE_BYTES]).lstrip(_BLANK), 0
            if len(head) < max(map(len, STREAM_BEGINS)) and len(self._buffer) < MAX_LINE_BYTES:
                return False
            self._is_stream = head.startswith(STREAM_BEGINS)
        if not self._is_stream:
            self._refuse_more_than(len(self._buffer))
            return False
        end = 1 + max(self._buffer.rfind(b"\n", searched), self._buffer.rfind(b"\r", searched))
        lines = _LINE_ENDS.split(bytes(self._buffer[:end]))
        del self._buffer[:end]
        if max(len(self._buffer), *map(len, lines)) > MAX_LINE_BYTES:
            raise FarTooLong(f"{MAX_LINE_BYTES:,} bytes in one line of a stream")
        return any(self._take_line(line) for line in lines)

    def whole(self) -> str:
        """Return the JSON of the whole answer; texts that are not streams, and errors in a stream,
        unchanged.

        Raise ValueError, with what is wrong in words, for a stream that broke off, and for chunks
        that are not JSON objects.
        """
        if not (self._is_stream or self._buffer.lstrip(_BLANK).startswith(STREAM_BEGINS)):
            return bytes(self._buffer).decode("utf-8")
        if not (self._is_ended or self._error or self._problem):
            self._take_line(bytes(self._buffer.lstrip(_BLANK)))
        if self._problem is not None:
            raise self._problem
        if self._error is not None:
            return json.dumps(self._error)
        if not self._is_ended and not self._finish_reason:
            raise ValueError(f"a stream that broke off after {self.n_said:,} characters")
        return self._as_json()

    def _take_line(self, line: bytes) -> bool:
        """Take a line; return whether it ends the answer, well or not."""
        if not line.startswith(b"data:"):
            return False
        try:
            data = line.removeprefix(b"data:").decode().strip()
            self._is_ended = data == "[DONE]"
            if data and not self._is_ended:
                self._take_chunk(_read_chunk(data))
        except UnicodeDecodeError as error:
            self._problem = ValueError(
                f"a stream that is not UTF-8 (byte {error.start + 6:,} of a line)"
            )
        except ValueError as problem:
            self._problem = problem
        except RecursionError:
            self._problem = ValueError("a stream with a chunk that is nested too deeply")
        self._refuse_more_than(self._size)
        return self._is_ended or self._error is not None or self._problem is not None

    def _take_chunk(self, chunk: JsonObject) -> None:
        choices = chunk.get("choices") or []
        if "error" in chunk and not choices:
            self._error = chunk
            return
        self._usage = self._usage if chunk.get("usage") is None else chunk["usage"]
        if not self._head:
            self._head = {
                name: value for name, value in chunk.items() if name not in ("choices", "usage")
            }
            self._size += len(json.dumps(self._head))
        if not isinstance(choices, list) or not all(
            isinstance(choice, Mapping) for choice in choices
        ):
            raise ValueError("a stream with a choice that is no JSON object")
        for choice in choices:
            self._indices.add(json.dumps(choice.get("index")))
            if len(self._indices) > 1:
                raise ValueError("a stream with more than one choice, of which one was asked for")
            if choice.get("error"):
                self._error = {"error": choice["error"]}
                return
            self._finish_reason = choice.get("finish_reason") or self._finish_reason
            self._add_logprobs(choice.get("logprobs"))
            if isinstance(choice.get("delta"), Mapping):
                self._add_to_message(choice["delta"])

    def _add_to_message(self, delta: Mapping[str, Any]) -> None:
        """Add to the texts of the message. A list of parts is added to the fields that hold such
        parts elsewhere."""
        parts = read_parts(delta.get("content")) if isinstance(delta.get("content"), list) else None
        if parts is not None:
            delta = {
                **delta,
                "content": parts.text,
                "reasoning": parts.thinking or None,
                "refusal": parts.refusal or None,
            }
        for name, value in delta.items():
            value = text_of(value) if name in THINKING and value is not None else value
            if isinstance(value, str) and name != "role":
                self._texts.setdefault(name, []).append(value)
                self._size += len(value)
            elif value is not None:
                self._fields[name] = value
                self._size += len(json.dumps(value)) if isinstance(value, list | dict) else 0
        if len(self._texts) + len(self._fields) > MAX_FIELDS:
            raise ValueError(f"a stream with more than {MAX_FIELDS} fields in a message")
        said, thought = (
            next((text for name in names if (text := text_of(delta.get(name)))), "")
            for names in (("content",), THINKING)
        )
        self.n_said, self._n_thought = self.n_said + len(said), self._n_thought + len(thought)
        if said or thought:
            self._say(said, thought)

    def _add_logprobs(self, value: Any) -> None:
        """Add the log-probabilities of more tokens, as JSON: Python objects would take ten times
        the memory."""
        for name, entries in value.items() if isinstance(value, Mapping) else ():
            if isinstance(entries, list):
                text = json.dumps(entries)[1:-1]
                pieces = self._logprobs.setdefault(name, [])
                pieces += [text] if text else []
                self._size += len(text)
        if len(self._logprobs) > MAX_FIELDS:
            raise ValueError(f"a stream with more than {MAX_FIELDS} fields of log-probabilities")

    def _refuse_more_than(self, size: int) -> None:
        if size > self._most:
            raise TooLong(f"{self._most:,} bytes")
        if max(self.n_said, self._n_thought) > MAX_CHARACTERS:
            raise FarTooLong(f"{MAX_CHARACTERS:,} characters")

    def _as_json(self) -> str:
        message = {"role": "assistant", "content": None, **self._fields}
        message |= {name: "".join(pieces) for name, pieces in self._texts.items()}
        logprobs = ", ".join(
            f"{json.dumps(name)}: [{', '.join(pieces)}]" for name, pieces in self._logprobs.items()
        )
        choice = json.dumps({"index": 0, "message": message, "finish_reason": self._finish_reason})
        choice = f'{choice[:-1]}, "logprobs": {f"{{{logprobs}}}" if self._logprobs else "null"}}}'
        head = json.dumps({**self._head, "object": "chat.completion"})
        usage = f', "usage": {json.dumps(self._usage)}' if self._usage is not None else ""
        return f'{head[:-1]}, "choices": [{choice if self._indices else ""}]{usage}}}'


def _read_chunk(data: str) -> JsonObject:
    try:
        chunk = parse_json(data)
    except ValueError as error:
        raise ValueError(f"a stream with a chunk that is no JSON ({error})") from error
    if not isinstance(chunk, dict):
        raise ValueError(f"a stream with a chunk of type {type(chunk).__name__}")
    return chunk
