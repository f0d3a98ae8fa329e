"""Turn a stream of server-sent events into the JSON of the whole answer while its bytes arrive. Time and memory grow only with
the answer, whatever the server sends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from core.llm.answers import MAX_CHARACTERS, ContentParts, read_json, read_parts
from core.llm.joined_chunks import JoinedChunks
from core.net.transport import FarTooLong, TooLong

MAX_LINE_BYTES = 1 << 20
MAX_RAW_BYTES = 100_000  # most bytes to save of a broken stream
_FIELDS = (b"data", b"event", b"id", b"retry")
_END = "[DONE]"
_LINE_ENDS = re.compile(rb"[\r\n]")  # JSON may contain other Unicode line ends literally
_NO_CONTENT = re.compile(rb"(?:[ \t]*+[\r\n]|:[^\r\n]*+[\r\n])*+")  # empty lines and remarks
_REASONING = ("reasoning", "reasoning_content")
_LONGEST_LINE = f"{MAX_LINE_BYTES:,} bytes in one line of a stream"

Say = Callable[[str, str], object]


class StreamedAnswer:
    """The answer to a request for a stream.

    most: of its bytes. say: takes the content and the reasoning that each chunk adds.
    """

    def __init__(self, most: int, say: Say = lambda *_: None) -> None:
        self._most, self._say = most, say
        self._head = bytearray()  # until the kind of the stream is known
        self._is_stream: bool | None = None
        self._plain = bytearray()
        self._raw = bytearray()
        self._lines = LineReader()
        self._joined = JoinedChunks()
        self._error: Mapping[str, Any] | None = None
        self._problem: ValueError | None = None
        self._is_ended = False
        self.n_said = 0  # characters of content
        self._n_thought = 0  # of reasoning

    @property
    def raw(self) -> str:
        """The beginning of what came."""
        return bytes(self._raw if self._is_stream else self._plain or self._head).decode("utf-8", "replace")

    @property
    def so_far(self) -> str:
        """The JSON of the chunks so far, "" without chunks."""
        return self._joined.as_json() if self._is_stream else ""

    def take(self, part: bytes) -> bool:
        """Take what comes next; return whether no more is needed, since the answer is whole or cannot become one.

        Raise TooLong for an answer, a text or a line that is longer than allowed.
        """
        if self._is_stream is None:
            self._head += part
            del self._head[: len(_NO_CONTENT.match(self._head)[0])]  # type: ignore[index]  # matches everything
            self._is_stream = _is_stream(self._head)
            if self._is_stream is None:
                if len(self._head) > MAX_LINE_BYTES:
                    raise FarTooLong(_LONGEST_LINE)
                return False
            part = bytes(self._head)
        if not self._is_stream:
            self._plain += part
            self._refuse_more_than(len(self._plain))
            return False
        self._raw += part[: MAX_RAW_BYTES - len(self._raw)]
        return self._take_lines(self._lines.read(part))

    def whole(self) -> str:
        """Return the JSON of the whole answer; texts that are not streams, and errors in a stream, unchanged.

        Raise ValueError, with what is wrong in words, for a stream that broke off, and for chunks that are not JSON objects.
        """
        if not self._is_stream:
            return bytes(self._plain or self._head).decode("utf-8")
        self._take_lines([self._lines.rest])
        if self._problem is not None:
            raise self._problem
        if self._error is not None:
            return json.dumps(self._error)
        if not self._is_ended and not self._joined.is_finished:
            raise ValueError(f"a stream that broke off after {self.n_said:,} characters")
        return self._joined.as_json()

    def _take_lines(self, lines: Iterable[bytes]) -> bool:
        """Take lines until the answer has ended, well or not; return whether it has."""
        for line in lines:
            if self._is_ended or self._error is not None or self._problem is not None:
                break
            try:
                self._take_line(line)
            except ValueError as problem:
                self._problem = problem
            except RecursionError:
                self._problem = ValueError("a stream with a chunk that is nested too deeply")
            self._refuse_more_than(self._joined.size)
        return self._is_ended or self._error is not None or self._problem is not None

    def _take_line(self, line: bytes) -> None:
        data = _data_of(line)
        self._is_ended = data == _END
        if not data or self._is_ended:
            return
        chunk = _read_chunk(data)
        if "error" in chunk and not chunk.get("choices"):
            self._error = chunk
            return
        self._joined.add(chunk)
        content, reasoning = read_delta(chunk)
        self.n_said += len(content)
        self._n_thought += len(reasoning)
        if content or reasoning:
            self._say(content, reasoning)

    def _refuse_more_than(self, size: int) -> None:
        if size > self._most:
            raise TooLong(f"{self._most:,} bytes")
        if max(self.n_said, self._n_thought) > MAX_CHARACTERS:
            raise FarTooLong(f"{MAX_CHARACTERS:,} characters")


class LineReader:
    """Reads lines from bytes, however they are cut; empty ones and remarks are left out. rest: the line that has no end yet."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def rest(self) -> bytes:
        return bytes(self._buffer)

    def read(self, part: bytes) -> list[bytes]:
        """Return the lines that are now complete, in order. Raise FarTooLong for a line above the limit."""
        begin = len(self._buffer)
        self._buffer += part
        end = 1 + max(self._buffer.rfind(b"\n", begin), self._buffer.rfind(b"\r", begin))
        lines = _LINE_ENDS.split(bytes(self._buffer[:end]))
        del self._buffer[:end]
        if len(self._buffer) > MAX_LINE_BYTES or any(len(line) > MAX_LINE_BYTES for line in lines):
            raise FarTooLong(_LONGEST_LINE)
        return [line for line in lines if line.strip() and not line.startswith(b":")]


def read_delta(chunk: Any) -> tuple[str, str]:
    """Return the content and the reasoning that a chunk adds to the first choice, "" for none."""
    match chunk:
        case {"choices": [{"delta": {**delta}}, *_]}:
            texts = {name: value for name, value in delta.items() if isinstance(value, str)}
            parts = read_parts(delta.get("content")) or ContentParts(None)
            thinking = next((texts[name] for name in _REASONING if name in texts), parts.thinking)
            return parts.text or "", thinking
    return "", ""


def _is_stream(head: bytes | bytearray) -> bool | None:
    """Return whether a text with this beginning is a stream of events, None if it is too short to tell.

    In a stream, the first line that is neither empty nor a comment begins with a field's name.
    """
    if not head.strip(b" \t") or head.startswith(b":"):
        return None
    name, colon, _ = bytes(head).partition(b":")
    if colon:
        return name in _FIELDS
    return None if any(known.startswith(name) for known in _FIELDS) else False


def _data_of(line: bytes) -> str:
    """Return the data of a line, "" for none. Raise ValueError if it is no UTF-8."""
    try:
        return line.removeprefix(b"data:").decode().strip() if line.startswith(b"data:") else ""
    except UnicodeDecodeError as error:
        raise ValueError(f"a stream that is not UTF-8 (byte {error.start + 6:,} of a line)") from error


def _read_chunk(data: str) -> dict[str, Any]:
    try:
        chunk = read_json(data)
    except ValueError as error:
        raise ValueError(f"a stream with a chunk that is no JSON ({error})") from error
    if not isinstance(chunk, dict):
        raise ValueError(f"a stream with a chunk of type {type(chunk).__name__}")
    return chunk
