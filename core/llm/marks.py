"""Find the marks of an answer in a text: a tag or a field, a sentence such as "the answer is", or a line of its own.

Prose is no mark: a letter may belong to a name (vitamin C), a word to a phrase (set up), a number to anything. Every search takes
linear time. Places are those of the text as `readable` returns it, which are those of the text itself.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from functools import cache
from typing import Literal, NamedTuple

from core.llm.answer_lexicon import (
    AFTER_NOUNS,
    ANSWER_NOUNS,
    BEFORE_NOUNS,
    BEFORE_UNSPACED,
    CHOOSES,
    DOUBTS,
    GIVES_NO_ANSWER,
    JOINS,
    OF_THE_QUESTION,
    PROBABILITY_NOUNS,
    REFUSES,
    TAKES_BACK,
    UNSPACED_NOUNS,
)

Kind = Literal["tag", "field", "sentence", "line", "lead"]
Tag = Literal["answer", "prob"]

DECORATION = " \t\r\n*_`\"'“”‘’«»„「」『』【】()[]{}$\\.,;:!#>|~"
# Full-width ASCII, and blanks of all kinds, which keyboards and tokenizers write instead of the plain ones.
_PLAIN: dict[int, str] = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_PLAIN |= dict.fromkeys((0xA0, 0x3000, 0xFEFF, 0x2060, 0x205F, 0x202F, *range(0x2000, 0x2010)), " ")
_PLAIN |= {0x3002: ".", 0xFE6A: "%", 0x2028: "\n", 0x2029: "\n"}

_LESS, _MORE = r"(?:<|&lt;)", r"(?:>|&gt;)"
_NAMES: dict[Tag, str] = {
    "answer": "answer|final_answer|label|letter|choice|prediction|verdict",
    "prob": "prob|probability|answer|estimate|p_de|p_up_given_de",
}
_QUOTES = r"[*_`\"'“”‘’«»「」『』【】]{0,4}+"
_SENTENCE_END = re.compile(r"[.!?;](?=\s)|\n")
_LAST_WORD = re.compile(r"[\w'’]++(?=[\s*_`\"'(]{0,9}+\Z)")
_MAY_STAND_BEFORE = re.compile(rf"{BEFORE_NOUNS}|(?:{BEFORE_UNSPACED})++", re.IGNORECASE)
_MOST_SENTENCES = 200
_MOST_BEFORE, _MOST_AFTER = 300, 300  # characters of a sentence that are looked at
_OPENING = 400  # a refusal is recognised within this many characters


class Mark(NamedTuple):
    """A place that is marked as the answer, which begins a sentence or a lead and is all that stands at any other mark."""

    kind: Kind
    start: int
    end: int


def readable(text: str) -> str:
    """Return the text with plain digits, letters and blanks instead of full-width and special ones; its length stays."""
    return text.translate(_PLAIN)


def find_tags(text: str, tag: Tag) -> list[Mark]:
    """Return the content of each <tag>…</tag>, in order; of an unclosed one, the first line that is not empty.

    A tag that is opened again where it should be closed is closed.
    """
    found: list[Mark] = []
    start: int | None = None
    for each in _tag_pattern(tag).finditer(text):
        if start is not None and (each["end"] or text[start : each.start()].strip()):
            found.append(Mark("tag", start, each.start()))
            start = None
        elif not each["end"]:
            start = each.end()
    if start is not None:
        begin = len(text) - len(text[start:].lstrip())
        end = text.find("\n", begin)
        found.append(Mark("tag", start, len(text) if end < 0 else end))
    return found


def find_fields(text: str, tag: Tag) -> list[Mark]:
    """Return the values of JSON members, LaTeX boxes and DSPy fields that are the answer."""
    return [Mark("field", *each.span(each.lastindex or 0)) for each in _field_pattern(tag).finditer(text)]


def find_sentences(text: str, tag: Tag) -> list[Mark]:
    """Return the text after "the answer is", "Answer:", "I choose" and their like, unless the sentence denies or doubts it
    before.

    Of a text with more of them than any answer has, the last ones.
    """
    found = deque(_sentence_pattern(tag).finditer(text), maxlen=_MOST_SENTENCES)
    return [
        Mark("sentence", each.end(), min(len(text), each.end() + _MOST_AFTER))
        for each in found
        if _is_ours(_before(text, each.start()))
    ]


def find_lines(text: str) -> list[Mark]:
    """Return the first line, the last line, and the first line as a possible start of an answer; empty lines are ignored."""
    lines = [Mark("line", *each.span()) for each in re.finditer(r"[^\n]++", text) if each[0].strip(DECORATION)]
    return [*dict.fromkeys((lines[0], lines[-1])), lines[0]._replace(kind="lead")] if lines else []


def is_taken_back(text: str, marks: Iterable[Mark]) -> bool:
    """Return whether what follows the last of the marks says that the answer was wrong."""
    end = max(mark.end if mark.kind in ("tag", "field", "line") else mark.start + 1 for mark in marks)
    return TAKES_BACK.search(text, end) is not None


def refuses(text: str, marks: Iterable[Mark]) -> bool:
    """Return whether a text begins by declining to answer, and gives an answer neither in a tag nor in a field nevertheless."""
    is_given = any(mark.kind in ("tag", "field") for mark in marks)
    return bool(REFUSES.search(text, 0, _OPENING) or (not is_given and GIVES_NO_ANSWER.search(text, 0, _OPENING)))


@cache
def _tag_pattern(tag: Tag) -> re.Pattern[str]:
    return re.compile(rf"{_LESS}\s{{0,4}}+(?P<end>/\s{{0,4}}+)?+{tag}(?:\s[^<>&\n]{{0,100}}+)?+/?(?:{_MORE}|\Z)", re.IGNORECASE)


@cache
def _field_pattern(tag: Tag) -> re.Pattern[str]:
    names = _NAMES[tag]
    return re.compile(
        rf"(?<!\\)[\"'](?:{names})[\"']\s{{0,9}}+:\s{{0,9}}+(?:\"([^\"\\\n]{{0,200}}+)\"|'([^'\\\n]{{0,200}}+)'|([-+.\d%]{{1,30}}+))"
        r"|\\boxed\s{0,4}+\{(?:\\text\s{0,4}+\{)?+([^{}\n]{0,200}+)\}"
        rf"|\[\[\s{{0,4}}+##\s{{0,4}}+(?:{names})\s{{0,4}}+##\s{{0,4}}+\]\]\s{{0,9}}+([^\n]{{0,200}}+)",
        re.IGNORECASE,
    )


@cache
def _sentence_pattern(tag: Tag) -> re.Pattern[str]:
    nouns = ANSWER_NOUNS if tag == "answer" else PROBABILITY_NOUNS
    name = rf"(?:(?<![\w<[\"'/-])(?:{nouns})(?:s)?+(?!\w)|(?:{UNSPACED_NOUNS[tag]}))"
    aside = r"(?:\s{0,4}+\([^()\n]{0,60}+\))?+"
    named = rf"{name}{_QUOTES}{AFTER_NOUNS}{OF_THE_QUESTION}{aside}\s{{0,4}}+{JOINS}"
    chosen = rf"|(?:{CHOOSES})\s{{0,4}}+:?" if tag == "answer" else ""
    return re.compile(rf"(?:{named}{chosen}){_QUOTES}", re.IGNORECASE)


def _is_ours(before: str) -> bool:
    """Return whether the words before "answer" leave it as it is.

    They may deny it, doubt it or change its sense, as in "an immune answer" or "a false positive probability".
    """
    last = _LAST_WORD.search(before)
    return not DOUBTS.search(before) and (last is None or _MAY_STAND_BEFORE.fullmatch(last[0]) is not None)


def _before(text: str, place: int) -> str:
    """Return the part of a sentence before a position."""
    part = text[max(0, place - _MOST_BEFORE) : place]
    ends = [each.end() for each in _SENTENCE_END.finditer(part)]
    return part[ends[-1] :] if ends else part
