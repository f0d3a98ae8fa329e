"""The chunks of a stream, joined to the JSON of the whole answer. Texts and lists are appended to, never made again."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.llm.answers import read_parts

_MOST_CHOICES = 100
# Type of a part → the field with its text.
_JOINED = {"text": "text", "output_text": "text", "thinking": "thinking", "reasoning": "reasoning"}
_BYTES_PER_NAME = 100  # memory of a field in addition to its characters


@dataclass(slots=True)
class _Choice:
    """One choice of an answer in progress. Texts and lists are only appended to.

    message: name → its text so far, or its last value. logprobs: of tokens, as `_Entries`; None without.
    """

    message: dict[str, Any] = field(default_factory=dict)
    rest: dict[str, Any] = field(default_factory=dict)
    logprobs: Any = None

    def add(self, choice: Mapping[str, Any]) -> int:
        """Add a chunk of this choice; return the growth in bytes."""
        delta = choice.get("delta")
        grown = 0
        for name, value in (delta if isinstance(delta, Mapping) else {}).items():
            grown += self._add_to_message(name, value)
        for name, value in choice.items():
            if name == "logprobs":
                grown += self._add_logprobs(value)
            elif name != "delta" and (value is not None or name not in self.rest):
                grown += _size_of(name, value, self.rest)
                self.rest[name] = value
        return grown

    def _add_to_message(self, name: str, value: Any) -> int:
        grown, before = _size_of(name, value, self.message), self.message.get(name)
        if value is None:
            self.message.setdefault(name, None)
        elif name == "content" and (isinstance(value, list) or isinstance(before, _Parts)):
            grown = self._add_parts(value)
        elif not isinstance(value, str) or name == "role":
            self.message[name] = value
        else:
            if not isinstance(before, io.StringIO):
                before = self.message[name] = io.StringIO()
            before.write(value)
        return grown

    def _add_parts(self, value: Any) -> int:
        """Add to a content that is a list of parts; a text is one of them."""
        parts = self.message.get("content")
        if not isinstance(parts, _Parts):
            before, parts = parts, _Parts()
            if isinstance(before, io.StringIO):
                parts.add([{"type": "text", "text": before.getvalue()}])
            self.message["content"] = parts
        return parts.add(value if isinstance(value, list) else [{"type": "text", "text": value}])

    def _add_logprobs(self, value: Any) -> int:
        """Add the log-probabilities of more tokens behind those before; a value of another shape instead of all."""
        if value is None:
            return 0
        if not isinstance(value, dict):
            self.logprobs = value
            return _size_of("", value, ())
        if not isinstance(self.logprobs, dict):
            self.logprobs = {}
        grown = 0
        for name, entries in value.items():
            before = self.logprobs.get(name)
            if isinstance(entries, list):
                if not isinstance(before, _Entries):
                    before = self.logprobs[name] = _Entries()
                    grown += len(name) + _BYTES_PER_NAME
                grown += before.add(entries)
            elif entries is not None or name not in self.logprobs:
                grown += _size_of(name, entries, self.logprobs)
                self.logprobs[name] = entries
        return grown

    def as_json(self, index: int) -> str:
        message = _Whole({"role": "assistant", "content": None, **self.message})
        logprobs = _Whole(self.logprobs) if isinstance(self.logprobs, dict) else self.logprobs
        return _as_json(_Whole({"index": index, "message": message, "finish_reason": None, "logprobs": logprobs, **self.rest}))


class _Entries:
    """The entries of a list that comes in pieces, stored as JSON, because Python objects would take ten times the memory."""

    def __init__(self) -> None:
        self._text = io.StringIO()

    def add(self, entries: list[Any]) -> int:
        before = self._text.tell()
        if entries:
            self._text.write(f"{', ' if before else ''}{json.dumps(entries)[1:-1]}")
        return self._text.tell() - before

    def as_json(self) -> str:
        return f"[{self._text.getvalue()}]"


class _Parts:
    """The parts of a content that comes in pieces: consecutive text of one type is joined into one part; other parts are
    unchanged.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[str, io.StringIO]] = []  # type → text; of other types, "" → JSON

    def add(self, parts: list[Any]) -> int:
        grown = 0
        for part in parts:
            kind = str(part.get("type")) if isinstance(part, Mapping) else ""
            read = read_parts([part]) if kind in _JOINED else None
            if read is None or not self._parts or self._parts[-1][0] != kind:
                self._parts.append((kind if read else "", io.StringIO()))
                grown += _BYTES_PER_NAME
            grown += self._parts[-1][1].write("".join(text for text in read if text) if read else json.dumps(part))
        return grown

    def as_json(self) -> str:
        texts = ((kind, text.getvalue()) for kind, text in self._parts)
        joined = (json.dumps({"type": kind, _JOINED[kind]: text}) if kind else text for kind, text in texts)
        return f"[{', '.join(joined)}]"


class JoinedChunks:
    """The joined chunks of a stream. size: about how many bytes are stored."""

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._choices: dict[int, _Choice] = {}
        self._usage: Any = None
        self.size = 0

    @property
    def _first(self) -> _Choice | None:
        return self._choices[min(self._choices)] if self._choices else None

    @property
    def is_finished(self) -> bool:
        """Whether the first choice has a reason for its end."""
        return self._first is not None and bool(self._first.rest.get("finish_reason"))

    def add(self, chunk: Mapping[str, Any]) -> None:
        """Add a chunk. Raise ValueError if it is of another shape."""
        for name, value in chunk.items():
            if name == "usage":
                self._usage = self._usage if value is None else value
            elif name != "choices" and name not in self._head:
                self.size += _size_of(name, value, self._head)
                self._head[name] = value
        choices = chunk.get("choices") or ()
        if not isinstance(choices, list | tuple):
            raise ValueError(f"a stream with choices of type {type(choices).__name__}")
        for place, choice in enumerate(choices):
            if not isinstance(choice, Mapping):
                raise ValueError("a stream with a choice that is no JSON object")
            index = choice.get("index")
            self.size += self._choice(index if isinstance(index, int) else place).add(choice)

    def _choice(self, index: int) -> _Choice:
        if index not in self._choices and len(self._choices) >= _MOST_CHOICES:
            raise ValueError(f"a stream with more than {_MOST_CHOICES} choices")
        return self._choices.setdefault(index, _Choice())

    def as_json(self) -> str:
        choices = ", ".join(self._choices[index].as_json(index) for index in sorted(self._choices))
        head = _as_json(_Whole({**self._head, "object": "chat.completion"}))
        usage = f', "usage": {json.dumps(self._usage)}' if self._usage is not None else ""
        return f'{head[:-1]}, "choices": [{choices}]{usage}}}'


def _size_of(name: str, value: Any, known: Any) -> int:
    """Return the approximate number of bytes of a field. Numbers count 0, because they replace earlier ones."""
    size = 0 if name in known else len(name) + _BYTES_PER_NAME
    if isinstance(value, str):
        return size + len(value)
    return size + (len(json.dumps(value)) if isinstance(value, list | dict) else 0)


class _Whole(dict[str, Any]):
    """The fields of an object that is ours; some hold texts and entries that came in pieces."""


def _as_json(value: Any) -> str:
    match value:
        case _Entries() | _Parts():
            return value.as_json()
        case io.StringIO():
            return json.dumps(value.getvalue())
        case _Whole():
            return f"{{{', '.join(f'{json.dumps(name)}: {_as_json(inner)}' for name, inner in value.items())}}}"
    return json.dumps(value)
