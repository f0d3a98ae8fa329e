"""An answer in progress, separated into answer and thinking as in `part_thinking`.

What came may turn out to be something else: of "A? </think> B" the first words are thinking. So
`part_thinking` reads the text again whenever a mark has come, and at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from typing import NamedTuple

from core.llm.thinking import CHANGES, part_of_next, part_thinking

# An end that may go on as a mark, or special tokens that are no part of an answer if it ends behind
# them.
_MAY_GO_ON = re.compile(
    r"(?:<\|(?:start|channel)\|>(?:(?!<\|message\|>)[^\n]){0,300}+(?:<\|message\|>)?"
    r"|(?:<[^<>\s]{1,30}+>\s{0,4}+){1,10}+(?:<[^<>\n]{0,40}+)?|<[^<>\n]{0,40}+|&(?:l?t?"
    r"|lt;[^;\n]{0,40}+)|\[/?[A-Z]{0,5}+|◁[^▷\n]{0,10}+|assist[antfil]{0,8}+|assis|assi|ass|as"
    r"|a)\Z",
    re.IGNORECASE,
)
_FIRST = "analysis"  # with which a text may begin whose marks are taken away
_LONGEST = 600  # characters of such an end
# Limits on reading a text again, however many marks a server sends.
_READINGS, _FREE = 16, 1 << 22


class LiveWords(NamedTuple):
    """The new part of an answer. is_anew: whether it replaces everything before."""

    content: str
    reasoning: str
    is_anew: bool = False


class LiveText:
    """An answer while its content and its reasoning arrive in separate fields; the content may
    contain thinking too.

    The shown text equals the `part_thinking` of the whole content, "" for none, and the reasoning
    followed by the content's thinking.
    """

    def __init__(self) -> None:
        self._whole, self._field = StringIO(), StringIO()
        self._content, self._reasoning = StringIO(), StringIO()  # as they were said
        self._waiting = ""  # the end of the content that may be the beginning of a mark
        self._next = ""  # what further words are part of, "" before the text is read
        self._n_read = 0  # characters, over all readings

    def add(self, content: str, reasoning: str = "") -> Iterator[LiveWords]:
        """Yield the words that are certain now."""
        if reasoning:
            is_all = self._reasoning.tell() == self._field.tell()
            self._field.write(reasoning)
            yield from self._say("", reasoning) if is_all else self._read_again()
        if content:
            self._whole.write(content)
            yield from self._take(self._waiting + content)

    def end(self) -> Iterator[LiveWords]:
        """Yield the rest at the end of the answer."""
        self._waiting, self._n_read = "", 0
        yield from self._read_again()

    def _take(self, new: str) -> Iterator[LiveWords]:
        """Yield the new certain words of the content."""
        text = new.rstrip()
        found = _MAY_GO_ON.search(text, max(0, len(text) - _LONGEST))
        known = text if found is None else text[: found.start()].rstrip()
        known = known if len(new) - len(known) < 2 * _LONGEST else new
        self._waiting = new[len(known) :]
        if not known or (not self._next and _FIRST.startswith(known.lstrip())):
            self._waiting = new
        elif self._next == "answer" and self._content.tell() and not CHANGES.search(known):
            yield from self._say(known, "")
        elif (
            self._next == "thinking"
            and self._reasoning.tell() > self._field.tell()
            and not CHANGES.search(known)
        ):
            yield from self._say("", known)
        elif self._next != "neither" or CHANGES.search(known):
            yield from self._read_again()

    def _read_again(self) -> Iterator[LiveWords]:
        """Read the whole text and yield how what was said differs from it; nothing if it has been
        read too often."""
        n = self._whole.tell() - len(self._waiting)
        self._next = ""
        if self._n_read > _READINGS * n + _FREE:
            return
        self._n_read += n
        whole = self._whole.getvalue()[:n]
        self._next, found = part_of_next(whole), part_thinking(whole)
        content, reasoning = (
            found.text or "",
            "\n\n".join(filter(None, (self._field.getvalue(), found.thinking))),
        )
        said = self._content.getvalue(), self._reasoning.getvalue()
        if content.startswith(said[0]) and reasoning.startswith(said[1]):
            yield from self._say(content[len(said[0]) :], reasoning[len(said[1]) :])
            return
        self._content, self._reasoning = StringIO(), StringIO()
        yield from self._say(content, reasoning, is_anew=True)

    def _say(self, content: str, reasoning: str, *, is_anew: bool = False) -> Iterator[LiveWords]:
        self._content.write(content)
        self._reasoning.write(reasoning)
        if content or reasoning or is_anew:
            yield LiveWords(content, reasoning, is_anew)
