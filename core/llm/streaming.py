"""Answers in pieces: the server-sent events of the OpenAI protocol, and the whole answer from them.
A stream becomes the same JSON as the answer without a stream, and is saved, parsed and cached in
the same way.

Also the interface of a client to its servers: one, or several with one chosen for each exchange.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from io import StringIO
from typing import NamedTuple, Protocol

from core.base.net.retry import Fault
from core.base.net.scrubber import Scrubber
from core.base.net.transport import OnPart
from core.llm.completion import Answer, part_thinking, read_scrubbed
from core.llm.endpoint import Method
from core.llm.messages import Outcome, Request
from core.llm.streamed_answer import MAX_RAW_BYTES, STREAM_BEGINS, StreamedAnswer

CHAT = "/chat/completions"
# Each token of a stream has an envelope, so a stream may have this many times the bytes of its
# answer, up to a limit.
TRANSIT, MOST_IN_TRANSIT = 64, 1 << 27
_LONGEST_BLANK = 1000  # characters before the first event
_MENTIONS_STREAMS = re.compile(r"\bstream", re.IGNORECASE)


class Words(NamedTuple):
    """What is new of an answer, and of its thinking. attempt: of the call, 1 for the first; what
    came under an earlier one is not the answer. is_anew: whether it stands instead of what came
    before, which turned out to be another part."""

    content: str
    reasoning: str
    attempt: int = 1
    is_anew: bool = False


OnWords = Callable[[Words], object]


class Sends(Protocol):
    """The sender of a streamed request: a model server (see `Server`)."""

    async def send(
        self,
        method: Method,
        url: str,
        body: str | None = None,
        max_bytes: int | None = None,
        on_part: OnPart | None = None,
    ) -> str | Fault: ...


async def send_streamed(
    server: Sends, request: Request, most: int, say: Callable[[Words], object], scrub: Scrubber
) -> str | Fault:
    """Request a stream and return the JSON of the whole answer.

    most: the most bytes of the answer. say: called with answer and thinking as they arrive. scrub:
    removes secrets from both, even if one comes in pieces. A stream that breaks off or is not JSON
    is a fault that may be retried, like a broken answer. Bytes after its end are not read.
    """
    content, reasoning, live = _Shown(scrub), _Shown(scrub), LiveText()

    def show(*new: str) -> None:
        for words in live.add(
            *(shown.add(text) for shown, text in zip((content, reasoning), new, strict=True))
        ):
            say(words)

    answer = StreamedAnswer(most, show)
    body = {**request.body, "stream": True, "stream_options": {"include_usage": True}}
    text = await server.send(
        "POST",
        CHAT,
        json.dumps(body, ensure_ascii=False, separators=(",", ":")),
        max(most, min(TRANSIT * most, MOST_IN_TRANSIT)),
        answer.take,
    )
    if isinstance(text, Fault):
        return (
            replace(text, message=f"{text.message}, with {answer.n_said:,} characters of content")
            if text.began
            else text
        )
    try:
        whole = answer.whole()
        for words in itertools.chain(live.add(content.end(), reasoning.end()), live.end()):
            say(words)
    except UnicodeDecodeError as error:
        return Fault(
            "malformed",
            f"an answer that is not UTF-8 (byte {error.start + 1:,})",
            retryable=True,
            raw=_stored_part(answer, scrub),
        )
    except ValueError as error:
        return Fault("malformed", str(error), retryable=True, raw=_stored_part(answer, scrub))
    except RecursionError:
        return Fault("malformed", "a stream that is nested too deeply", retryable=True)
    if len(whole.encode()) > most:
        return Fault("malformed", f"an answer of more than {most:,} bytes", raw=scrub(whole))
    return scrub(whole)


def _stored_part(answer: StreamedAnswer, scrub: Scrubber) -> str:
    """Return the stored part of a broken stream: its beginning, or its joined chunks if a secret is
    split across chunks."""
    try:
        whole = answer.so_far
    except RecursionError:  # for values nested too deeply, the joined pieces are unknown
        return ""
    clean, _ = read_scrubbed(scrub(whole), scrub)
    return scrub(answer.raw) if clean == whole else clean[:MAX_RAW_BYTES]


class _Shown:
    """The shown part of a text that arrives in pieces: its end waits while it may be the start of a
    secret."""

    def __init__(self, scrub: Scrubber) -> None:
        self._scrub, self._rest = scrub, ""

    def add(self, text: str) -> str:
        """Return the text that can be shown now."""
        shown, self._rest = self._scrub.split(self._rest + text)
        return shown

    def end(self) -> str:
        """Return the rest, at the end of the text."""
        shown, self._rest = self._rest, ""
        return self._scrub(shown)


def refuses_streams(outcome: str | Fault) -> bool:
    """Return whether a server rejects a request because it asks for a stream."""
    return (
        isinstance(outcome, Fault)
        and outcome.kind == "refused"
        and bool(_MENTIONS_STREAMS.search(outcome.message))
    )


def whole_answer(text: str) -> str:
    """Return the JSON of an answer that came as a stream although none was asked for; any other
    text as it is.

    Raise ValueError for a stream that broke off.
    """
    begins = text[:_LONGEST_BLANK].encode().lstrip(b"\xef\xbb\xbf\r\n\t ").startswith(STREAM_BEGINS)
    return join_stream(text) if begins else text


def join_stream(text: str) -> str:
    """Return the JSON of the whole answer in a stream (see `StreamedAnswer.whole`)."""
    content = text.encode()
    answer = StreamedAnswer(TRANSIT * len(content))
    answer.take(content)
    return answer.whole()


class Server(Sends, Protocol):
    """A model server that was chosen for one exchange; `record` is told what came of it, and may
    make it worth a retry. `count` takes the cost of a request that another process made."""

    @property
    def address(self) -> str: ...
    def record(self, outcome: Answer | Fault) -> Answer | Fault: ...
    def count(self, cost: Outcome) -> None: ...


class Servers(Protocol):
    """Where a client sends its requests: one server, or several of which one is chosen for each
    exchange."""

    def choose(self) -> AbstractAsyncContextManager[Server]: ...
    async def close(self) -> None: ...


def are_one_model(asked: str, answered: str) -> bool:
    """Return whether two names may denote one model: equal except for the publisher, or for a
    version at the end of one."""
    one, other = (name.rpartition("/")[2].lower() for name in (asked, answered))
    return one.startswith(other) or other.startswith(one)


_SIGN = re.compile(r"[<\[&◁]")  # with which marks begin
# An end that may go on as a mark.
_MAY_GO_ON = re.compile(
    r"(?:<\|(?:start|channel)\|>(?:(?!<\|message\|>)[^\n]){0,300}|[<\[&◁][^<>\]▷\n]{0,40}"
    r"|assist[antfil]*|assi?s?|as?|\A\s*a[analysi]*)\Z",
    re.IGNORECASE,
)
# Limits on reading a text again, however many marks a server sends.
_READINGS, _FREE = 16, 1 << 22
_LONGEST = 320  # characters of an end that may go on


class LiveText:
    """An answer while its content and its reasoning arrive in separate fields; the content may
    contain thinking too.

    The shown text equals the `part_thinking` of the whole content, "" for none, and the reasoning
    followed by the content's thinking.
    """

    def __init__(self) -> None:
        self._whole, self._field = StringIO(), StringIO()
        self._content, self._reasoning = StringIO(), StringIO()  # as they were said
        self._is_plain = False  # whether the content so far is an answer without a mark
        self._n_read = 0  # characters, over all readings

    def add(self, content: str, reasoning: str = "") -> Iterator[Words]:
        """Yield the words that are certain now."""
        self._whole.write(content)
        self._field.write(reasoning)
        if self._is_plain and not _SIGN.search(content):
            yield from self._say(content, reasoning)
        elif self._n_read <= _READINGS * self._whole.tell() + _FREE:
            whole = self._whole.getvalue()
            unsure = _MAY_GO_ON.search(whole, max(0, len(whole) - _LONGEST))
            yield from self._read(whole[: unsure.start()] if unsure else whole)

    def end(self) -> Iterator[Words]:
        """Yield the rest at the end of the answer."""
        yield from self._read(self._whole.getvalue())

    def _read(self, whole: str) -> Iterator[Words]:
        """Yield how the parts of a text differ from what was said."""
        self._n_read += len(whole)
        found = part_thinking(whole)
        is_all = len(whole) == self._whole.tell()
        self._is_plain = is_all and found.text == whole and not _SIGN.search(whole)
        content = found.text or ""
        reasoning = "\n\n".join(filter(None, (self._field.getvalue(), found.thinking)))
        said = self._content.getvalue(), self._reasoning.getvalue()
        if content.startswith(said[0]) and reasoning.startswith(said[1]):
            yield from self._say(content[len(said[0]) :], reasoning[len(said[1]) :])
        else:
            self._content, self._reasoning = StringIO(), StringIO()
            yield from self._say(content, reasoning, is_anew=True)

    def _say(self, content: str, reasoning: str, *, is_anew: bool = False) -> Iterator[Words]:
        self._content.write(content)
        self._reasoning.write(reasoning)
        if content or reasoning or is_anew:
            yield Words(content, reasoning, is_anew=is_anew)
