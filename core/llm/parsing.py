"""Reads numbers and classes from the text of a model. No text raises an error, and every search takes linear time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from core.types import Label

T = TypeVar("T")

OPTIONS: Mapping[str, Label] = MappingProxyType({"A": Label.UP, "B": Label.DOWN, "C": Label.NONE})


@dataclass(frozen=True, slots=True)
class Unparsed:
    """The reason why a text holds no answer."""

    reason: str


# Possessive quantifiers (`+` after `+`, `*`, `?`) give nothing back, which keeps every search linear.
_NUMBER = r"([+-]?[0-9]++(?:\.[0-9]++)?+)"
_CLOSED = re.compile(rf"<prob>\s*+{_NUMBER}\s*+%?+\s*+</prob>", re.IGNORECASE)
_OPENED = re.compile(rf"<prob>\s*+{_NUMBER}(?![\w/–—-])", re.IGNORECASE)
# Numbers that stand alone: no part of a symbol, a range, a fraction or a longer number.
_ALONE = rf"(?<![\w.,/–—−-]){_NUMBER}"
_PERCENT = re.compile(rf"{_ALONE}\s*+%")
_BARE = re.compile(rf"{_ALONE}(?![\w%/–—-]|[.,][0-9])")
# An A that opens a sentence may be the article; what opens a place that is marked as the answer is not.
_ARTICLE = re.compile(r"(?:\A|[.!?\n])[\s*•-]*+A(?=[ \t]++[a-z])")
_LATER_ARTICLE = re.compile(r"[.!?\n][\s*•-]*+A(?=[ \t]++[a-z])")
_ANSWER_COLON = re.compile(r"answer[*_]{0,3} ?:", re.IGNORECASE)
_OPEN_TAG, _CLOSE_TAG = "<answer>", "</answer>"


def probability(text: str) -> float | Unparsed:
    """The probability in a numeric answer, in [0, 1].

    Forms in order of preference: the last <prob>NN</prob>, the last unclosed <prob>NN, NN%, a bare number; NN is in per cent
    from 0 to 100. The last two forms are searched for in the last line, then in the whole text, and count only if they give
    a single value there.
    """
    for tag in (_CLOSED, _OPENED):
        numbers = tag.findall(text)
        if numbers:
            return _from_percent(numbers[-1])
    if "<prob>" in text.lower():
        return Unparsed("<prob> holds no number")
    for pattern in (_PERCENT, _BARE):
        for place in (_last_line(text), text):
            values = set(map(float, pattern.findall(place)))
            if len(values) > 1:
                return Unparsed(f"{len(values)} numbers, expected one")
            if values:
                return _from_percent(values.pop())
    return Unparsed("no number")


def label(text: str) -> Label | Unparsed:
    """The label that an answer names by its letter: A up, B down, C none. See `choice`."""
    return choice(text, OPTIONS)


def choice(text: str, classes: Mapping[str, T]) -> T | Unparsed:
    """The class that an answer names; `classes` maps what may be written to a hashable value.

    The first of these places that names any class must name exactly one: inside <answer>…</answer>, after the last
    "Answer:", the last line, the whole text. A letter counts in its own case and if it stands alone; words count in any
    case. An A that may be the article of a sentence ("A knockdown of …") names nothing by itself, and makes the answer
    ambiguous if another class is named, too.
    """
    for place, article in _places(text):
        without = article.sub(". ", place) if "A" in classes else place
        named = {classes[mark]: mark for mark in classes if standalone_pattern(mark).search(without)}
        if named and without != place:
            named.setdefault(classes["A"], "A")
        if len(named) > 1:
            return Unparsed(f"{' and '.join(named.values())} are named, expected one of {', '.join(classes)}")
        if named:
            return next(iter(named))
    return Unparsed(f"none of {', '.join(classes)} is named")


def marked_choice(text: str, classes: Mapping[str, T]) -> T | Unparsed:
    """The class that an answer in words names where it is marked as the answer: words such as "no" stand in any prose.

    Marked is what stands inside <answer>…</answer>, else after the last "Answer:", else a last line that is nothing but one of
    the marks of `classes`, in any case.
    """
    span = answer_span(text)
    if span is not None:
        return choice(text[slice(*span)], classes)
    colons = list(_ANSWER_COLON.finditer(text))
    if colons:
        return choice(text[colons[-1].end() :], classes)
    line = _last_line(text).strip(" \t*_.!").casefold()
    named = next((mark for mark in classes if mark.casefold() == line), None)
    return Unparsed(f"no answer is marked, expected one of {', '.join(classes)}") if named is None else classes[named]


def answer_span(text: str) -> tuple[int, int] | None:
    """The start and end of the answer: inside the last <answer>…</answer>, else from the last unclosed <answer> to the end."""
    close = text.rfind(_CLOSE_TAG)
    start = text.rfind(_OPEN_TAG, 0, close) if close >= 0 else -1
    if start >= 0:
        return start + len(_OPEN_TAG), close
    start = text.rfind(_OPEN_TAG)
    return None if start < 0 else (start + len(_OPEN_TAG), len(text))


def standalone_pattern(mark: str) -> re.Pattern[str]:
    """A pattern that finds `mark` as a whole word: a letter in its own case, a longer mark in any case."""
    return re.compile(
        rf"(?<![A-Za-z0-9_-]){re.escape(mark)}(?![A-Za-z0-9_]|-[A-Za-z0-9])", 0 if len(mark) == 1 else re.IGNORECASE
    )


def _from_percent(number: str | float) -> float | Unparsed:
    value = float(number)
    if not 0 <= value <= 100:
        return Unparsed(f"{value:g} lies outside 0 to 100")
    return abs(value) / 100


def _last_line(text: str) -> str:
    return text.rstrip().rpartition("\n")[2]


def _places(text: str) -> list[tuple[str, re.Pattern[str]]]:
    """The texts to search for a class, in order, each with the pattern of an A that may be an article there."""
    marked = []
    span = answer_span(text)
    if span is not None:
        marked.append(text[slice(*span)])
    colons = list(_ANSWER_COLON.finditer(text))
    if colons:
        marked.append(text[colons[-1].end() :])
    return [*((place, _LATER_ARTICLE) for place in marked), (_last_line(text), _ARTICLE), (text, _ARTICLE)]
