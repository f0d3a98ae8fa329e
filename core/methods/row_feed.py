"""What happens on the way to one row's prediction, for whoever watches: tools that answer, words as
they come, numbers.

The events, each with `kind` and `at` (seconds since 1970):

tool      item: an answer of a tool, as `Evidence`
asked     call: a number; stage, role, seed: of the call that is sent; streams: whether its words
          come one by one
words     call, attempt; content, reasoning: what is new of its answer and its thinking; is_anew:
          whether that stands instead of what came before. Not kept: only what somebody watches is
          streamed
answered  call; content, tokens, latency_ms, cached
failed    call; why: the error
read      stage, role, seed; p: the number in the answer, None if it holds none
rejected  stage, role, seed; why the answer could not be read, and is asked for once more
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from core.base.types import Evidence, Pair
from core.llm.messages import Reply
from core.llm.streaming import OnWords, Words

Event = Mapping[str, Any]
Sink = Callable[[Event], object]


class RowFeed:
    """The events of one row, which are kept while the row is predicted; while somebody watches,
    they also go to its sinks."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self._events: list[Event] = []
        # the words of one attempt of each call that streams, until it is answered
        self._said: dict[int, list[Words]] = {}
        self._sinks: list[Sink] = []

    @property
    def is_watched(self) -> bool:
        """Whether somebody watches the row."""
        return bool(self._sinks)

    def attach(self, sink: Sink) -> None:
        """Hand what has happened so far to a sink, and from now on what happens. A sink does not
        raise."""
        for event in self._events:
            sink(event)
        for call, said in self._said.items():
            content, reasoning = ("".join(texts) for texts in list(zip(*said, strict=True))[:2])
            sink(_words_event(call, Words(content, reasoning, said[-1].attempt)))
        self._sinks.append(sink)

    def detach(self, sink: Sink) -> None:
        """Hand nothing more to a sink."""
        self._sinks.remove(sink)

    def add(self, kind: str, **facts: Any) -> None:
        """Keep an event that happens now, and hand it on."""
        event = {"kind": kind, "at": time.time(), **facts}
        self._events.append(event)
        for sink in self._sinks:
            sink(event)

    def tool_answered(self, item: Evidence) -> None:
        """Add the answer of a tool."""
        self.add("tool", item=item)

    def begin_call(self, call: int, stage: str, role: str, seed: int) -> OnWords | None:
        """Add a call that is sent; return what takes its words if somebody watches."""
        streams = self.is_watched
        self.add("asked", call=call, stage=stage, role=role, seed=seed, streams=streams)
        return (lambda words: self._say(call, words)) if streams else None

    def end_call(self, call: int, reply: Reply) -> None:
        """Add the answer of a call."""
        self._said.pop(call, None)
        tokens = reply.usage.prompt_tokens + reply.usage.completion_tokens
        facts = {"tokens": tokens, "latency_ms": reply.latency_ms, "cached": reply.cached}
        self.add("answered", call=call, content=reply.content, **facts)

    def fail_call(self, call: int, why: str) -> None:
        """Add that a call brought no answer."""
        self._said.pop(call, None)
        self.add("failed", call=call, why=why)

    def _say(self, call: int, words: Words) -> None:
        said = self._said.setdefault(call, [])
        if words.is_anew or (said and said[-1].attempt != words.attempt):
            said.clear()
        said.append(words)
        event = _words_event(call, words)
        for sink in self._sinks:
            sink(event)


def _words_event(call: int, words: Words) -> Event:
    return {"kind": "words", "at": time.time(), "call": call, **words._asdict()}
