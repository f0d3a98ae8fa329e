"""Reads numbers and classes where a model's text marks them as its answer. No text raises an error, and none is guessed.

All marks of a text have to agree: two that differ, an answer that is taken back, and a refusal are unread, since asking once
more is cheap. A text is given as its final text (`core.llm.final_text`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from core.llm.answer_lexicon import ABOUT, ARTICLES, LABEL_WORDS, OPTION_NOUNS, OTHERS, PER_CENT, REASONS
from core.llm.marks import (
    DECORATION,
    Mark,
    Tag,
    find_fields,
    find_lines,
    find_sentences,
    find_tags,
    is_taken_back,
    readable,
    refuses,
)
from core.types import Label

T = TypeVar("T")

OPTIONS: Mapping[str, Label] = MappingProxyType({"A": Label.UP, "B": Label.DOWN, "C": Label.NONE})
LABELS: Mapping[str, Label] = MappingProxyType({**OPTIONS, **LABEL_WORDS})


@dataclass(frozen=True, slots=True)
class Unparsed:
    """The reason why a text has no answer."""

    reason: str


# Reads what stands at a mark: its value; why it has none, if it is an answer that cannot be used; None if it is not an answer.
_ReadMark = Callable[[str, Mark], T | Unparsed | None]

_WORD_END = r"(?![A-Za-z0-9_]|-[A-Za-z0-9])"
_LONGEST_GLOSS = 120  # characters that may follow a letter inside a tag
_PREFIX = re.compile(
    rf"(?:(?:{ARTICLES})\s+)?(?:correct\s+|final\s+)?(?:{OPTION_NOUNS})\s{{0,4}}+[:：]?\s{{0,4}}+", re.IGNORECASE
)
_SEPARATOR = re.compile(r"[\s*_`\"']{0,9}+[).:(\-–—=,\]][\s*_`\"']{0,9}+")
_OPENS = re.compile(r"[\s*_`\"'“‘«「『【(\[{$]{0,30}+")
_CLOSES = r"[*_`\"'”’»」』】\]}$]{0,9}+"
_GOES_ON = re.compile(
    rf"{_CLOSES}(?:\s*\Z|[ \t]*[\n\r]|[.;!](?!\w)(?!\s+(?-i:[a-z]))|[ \t]*[,)(:–—]|[ \t]+-[ \t]|[ \t]*(?:{REASONS})(?![a-zа-я]))",
    re.IGNORECASE,
)
_ALSO = rf"{_CLOSES}[ \t]*[,;/(:)–—-]?[ \t]*(?:(?:{OTHERS})(?![a-zа-я]))?[ \t]*[*_`\"'“(]*"
_HAS_REASON = re.compile(rf"{_CLOSES}\s{{1,4}}+(?:{REASONS})(?![a-zа-я])", re.IGNORECASE)
_LEAD = re.compile(
    r"^[ \t*_(\[]{0,9}+([A-Z])[*_]{0,3}+(?:\)|\]|[.:])[*_]{0,3}+(?:\s+(?=[A-Z\"“(*])|(?=[^\x00-\x7f]))", re.MULTILINE
)
_ONE_MORE = re.compile(r"[*_(\[]{0,4}+[A-Z][*_]{0,3}+[.)\]:]")  # a list on one line, or initials

_LEFT_OF_NUMBERS = DECORATION.replace(".", "").replace(",", "").replace(">", "")
_NUMBER = re.compile(
    rf"(?:(?:{ABOUT})\s{{0,4}}+)?([+-]?(?:[0-9]{{1,30}}+(?:[.,][0-9]{{0,30}}+)?|[.,][0-9]{{1,30}}+))(\s{{0,4}}+\\?(?:{PER_CENT}))?",
    re.IGNORECASE,
)
_AFTER_NUMBER = re.compile(
    rf"{_CLOSES}(?:\s*\Z|[ \t]*[\n\r]|[.;!](?!\w)|[ \t]*[,)](?!\s*[0-9])|[ \t]+\(|[ \t]*(?:{REASONS})(?![a-zа-я]))", re.I
)
_LIST_ITEM = re.compile(r"\s*[0-9]+[.)]\s*")


def probability(text: str) -> float | Unparsed:
    """Return the probability that an answer states in per cent, in [0, 1].

    Marked are <prob>62</prob>, a JSON member or field of that name, "the probability is 62%", and a first or last line with only
    the number. A number above 0 and up to 1 with a decimal point and without a per cent sign may be meant in per cent or as a
    fraction: it is unread.
    """
    return _read(text, "prob", _percent_at, "a number from 0 to 100")


def label(text: str) -> Label | Unparsed:
    """Return the label that an answer names by its letter (A up, B down, C none) or in words. See `choice`."""
    return choice(text, LABELS)


def choice(text: str, classes: Mapping[str, T]) -> T | Unparsed:
    """Return the class that an answer names; `classes` maps what may be written to a hashable value.

    Marked are <answer>B</answer>, a JSON member or field of that name, "the answer is B" or "Answer: B" in several languages, a
    first or last line that is nothing but the letter or word, and a first line such as "B. The gene …". A letter in a sentence
    counts in its own case, elsewhere in any; it may be followed by its own meaning ("B) down").
    """
    letters = [mark for mark in classes if len(mark) == 1]
    return _read(text, "answer", partial(_class_at, classes), f"one of {', '.join(letters or classes)}")


def last_label(text: str) -> Label | Unparsed:
    """Return the label in the last <answer>…</answer> of a text, regardless of earlier text; without one, return `label` of the
    text.
    """
    plain = readable(text)
    tags = find_tags(plain, "answer")
    if not tags:
        return label(text)
    found = _class_at(LABELS, plain, tags[-1])
    return Unparsed("the last <answer> names no label") if found is None else found


class LetterPlace(NamedTuple):
    """The answered letter, and its offset in the text."""

    letter: str
    offset: int


def find_letter(text: str, letters: Sequence[str]) -> LetterPlace | Unparsed:
    """Return the place of the letter in the last <answer>…</answer>, as long as it is the text's answer; see `choice`.

    letters: capitals; the one in the text may be written in another way, such as "b".
    """
    tags = find_tags(readable(text), "answer")
    if not tags:
        return Unparsed("no <answer>")
    answered = choice(text, {letter: letter for letter in letters})
    if isinstance(answered, Unparsed):
        return answered
    value = readable(text)[tags[-1].start : tags[-1].end]
    return LetterPlace(answered, tags[-1].start + _begin_of_class(value))


def _read(text: str, tag: Tag, read: _ReadMark[T], expected: str) -> T | Unparsed:
    """Return the value that all marks of a text agree on, or why there is none."""
    plain = readable(text)
    found: dict[Mark, T] = {}
    problem: Unparsed | None = None
    tags = find_tags(plain, tag)
    for mark in (*tags, *find_fields(plain, tag), *find_sentences(plain, tag), *find_lines(plain)):
        value = read(plain, mark)
        if isinstance(value, Unparsed):
            problem = problem or value
        elif value is not None:
            found[mark] = value
        elif mark.kind in ("tag", "field"):
            stands = plain[mark.start : mark.end].strip()
            problem = problem or Unparsed(
                f"{f'{stands[:40]!r}' if stands else 'nothing'} is marked as the answer, expected {expected}"
            )
    if tags and tags[-1] not in found and problem:
        return problem
    if not found:
        return problem or Unparsed(f"no answer is marked, expected {expected}")
    if len(set(found.values())) > 1:
        return Unparsed(f"{len(set(found.values()))} different answers are marked, expected one")
    if refuses(plain, found):
        return Unparsed("it declines to answer")
    if is_taken_back(plain, found):
        return Unparsed("what follows the answer takes it back")
    return next(iter(found.values()))


def _class_at(classes: Mapping[str, T], text: str, mark: Mark) -> T | Unparsed | None:
    """Return the class at a mark."""
    value = text[mark.start : mark.end]
    if mark.kind == "sentence":
        return _class_in_sentence(classes, value)
    if mark.kind == "lead":
        return _class_in_lead(classes, text, mark)
    return _class_alone(classes, value, may_explain=mark.kind != "line")


def _class_alone(classes: Mapping[str, T], value: str, *, may_explain: bool) -> T | Unparsed | None:
    """Return the class of a value that contains nothing else. may_explain: whether any words may follow a letter."""
    value = value[_begin_of_class(value) :].rstrip(DECORATION)
    named = _any_case(tuple(classes)).match(value)
    if not named:
        return None
    found, rest = _class_of(classes, named[1]), value[named.end() :]
    separator = _SEPARATOR.match(rest)
    if not rest.strip(DECORATION):
        return found
    if may_explain and _HAS_REASON.match(rest):
        return found
    if not separator or len(rest) > _LONGEST_GLOSS:
        return None
    gloss = rest[separator.end() :].strip(DECORATION)
    other = _class_of(classes, gloss)
    if other is not None:
        return found if other == found else Unparsed(f"{named[1]} and {gloss} are named, expected one")
    if len(named[1]) > 1 or not may_explain:
        return None
    again = [each[1] for each in _own_case(tuple(classes)).finditer(gloss) if _class_of(classes, each[1]) != found]
    return Unparsed(f"{named[1]} and {again[0]} are named, expected one") if again else found


def _begin_of_class(value: str) -> int:
    """Return the start of the class in a value that contains nothing else: after decoration and words such as "option"."""
    begin = len(value) - len(value.lstrip(DECORATION))
    prefix = _PREFIX.match(value, begin)
    return len(value) - len(value[prefix.end() :].lstrip(DECORATION)) if prefix else begin


def _class_in_sentence(classes: Mapping[str, T], value: str) -> T | Unparsed | None:
    """Return the class that begins a text and ends there, or continues a reason."""
    start = _OPENS.match(value)[0]  # type: ignore[index]  # matches everything
    value = value[len(start) :]
    prefix = _PREFIX.match(value)
    value = value[prefix.end() :] if prefix else value
    named = _own_case(tuple(classes)).match(value)
    if not named or not _GOES_ON.match(value, named.end()):
        return None
    found = _class_of(classes, named[1])
    also = re.compile(_ALSO, re.IGNORECASE).match(value, named.end())
    other = _own_case(tuple(classes)).match(value, also.end()) if also else None
    if other and _class_of(classes, other[1]) != found:
        return Unparsed(f"{named[1]} and {other[1]} are named, expected one")
    return found


def _class_in_lead(classes: Mapping[str, T], text: str, mark: Mark) -> T | None:
    """Return the class of a letter that begins the first line ("B. The gene …"), unless letters or initials are listed."""
    first = _LEAD.match(text, mark.start)
    if not first or first[1] not in classes or _ONE_MORE.match(text, first.end()):
        return None
    letters = {each[1] for each in _LEAD.finditer(text) if each[1] in classes}
    return classes[first[1]] if letters == {first[1]} else None


def _class_of(classes: Mapping[str, T], written: str) -> T | None:
    """Return the class for a text, ignoring case, or None."""
    if written in classes:
        return classes[written]
    return next((value for mark, value in classes.items() if mark.casefold() == written.casefold()), None)


@lru_cache(maxsize=64)
def _any_case(marks: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of one of the marks as a whole word, the longest first, letters in any case."""
    return re.compile(rf"({_alternatives(marks)}){_WORD_END}", re.IGNORECASE)


@lru_cache(maxsize=64)
def _own_case(marks: tuple[str, ...]) -> re.Pattern[str]:
    """As `_any_case`, letters in their own case."""
    letters = _alternatives([mark for mark in marks if len(mark) == 1]) or "(?!)"
    words = _alternatives([mark for mark in marks if len(mark) > 1]) or "(?!)"
    return re.compile(rf"(?<![\w-])((?i:{words})|{letters}){_WORD_END}")


def _alternatives(marks: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(marks, key=len, reverse=True)))


def _percent_at(text: str, mark: Mark) -> float | Unparsed | None:
    """Return the probability at a mark."""
    value = text[mark.start : mark.end]
    if mark.kind == "lead" or (mark.kind == "line" and _LIST_ITEM.fullmatch(value)):
        return None
    value = value.lstrip(_LEFT_OF_NUMBERS)
    if mark.kind != "sentence":
        found = _NUMBER.fullmatch(value.rstrip(DECORATION))
    else:
        found = _NUMBER.match(value)
        found = found if found and _AFTER_NUMBER.match(value, found.end()) else None
    return _from_percent(found[1], has_unit=bool(found[2])) if found else None


def _from_percent(number: str, *, has_unit: bool) -> float | Unparsed:
    """Return a number of per cent as a probability. has_unit: whether it says that it is in per cent."""
    whole, _, decimals = number.replace(",", ".").partition(".")
    if "," in number and len(decimals) > 2:
        return Unparsed(f"{number} may have thousands or decimals, expected a number from 0 to 100")
    value = float(f"{whole}.{decimals}0")
    if not 0 <= value <= 100:
        return Unparsed(f"{value:g} lies outside 0 to 100")
    if decimals and not has_unit and 0 < value <= 1:
        return Unparsed(f"{number} may be a fraction or per cent, expected per cent from 0 to 100, such as {_example(value)}")
    return abs(value) / 100


def _example(fraction: float) -> str:
    """Return how a fraction is written in per cent."""
    return f"{100 * fraction:g} for {fraction:g}"
