"""Read what a model answers where its reply marks it: a label, another option, or a probability.

Marks are, the strongest first: a tag (<answer>B</answer>), a field (JSON, DSPy, a LaTeX box), a
statement ("Answer: B", "Final: B" or "The answer is B" where a line or sentence begins), and an
answer alone on its line. The last one of the strongest form counts, whatever prose stands around
it. It is unread if a later mark says otherwise or the next words take it back, and so are
statements and lines that differ: to ask once more is cheap. What nothing marks is unread. Every
search takes linear time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeVar

from core.base.types import JsonObject, Label
from core.llm.completion import part_thinking, without_tool_calls

T = TypeVar("T")
Question = Literal["option", "probability"]
Form = Literal["tag", "field", "statement", "line"]

OPTIONS = {"A": Label.UP, "B": Label.DOWN, "C": Label.NONE}
_CHANGED = "{0}|{0}regulated|{0}-regulated|{0}regulation|{0}-regulation|goes {0}|{1}|{1}d|{1}s"
_UNCHANGED = (
    "none|no change|no effect|no_change|no_effect|unchanged|not changed|no significant"
    " change|neither"
)
_OUTCOMES = (_CHANGED.format("up", "increase"), _CHANGED.format("down", "decrease"), _UNCHANGED)
_WORDS = zip(OPTIONS.values(), _OUTCOMES, strict=True)
LABELS = OPTIONS | {word: label for label, words in _WORDS for word in words.split("|")}

# What an answer is called, the words that may stand before, and what joins it to the answer.
_NOUNS = (
    "answer|verdict|prediction|final|correction|antwort|korrektur|réponse|reponse|respuesta"
    "|risposta|resposta|ответ|答案"
)
_BEFORE = (
    "no|nein|wait|actually|the|my|our|an?|so|thus|therefore|hence|and|final|correct|right|best"
    "|likely|most|predicted|estimated"
    "|overall|die|der|meine|richtige|la|le|ma|bonne|finale|mi|correcta|il|mia|corretta|minha"
    "|correta|правильный|мой"
    "|因此|所以|最终|最終|正确"
)
_IS = (
    r"(?:is|must be|remains|ist|lautet|est|es|è|é)\b(?:"
    r" (?:therefore|thus|clearly|likely|probably|donc|de)\b)?|[:=–—是为は은]"
)
_SAME_EVENT = (
    r"(?:[\s\d%–/.,:-]|in|to|per|cent|of|de|yes|an?|the|effect|any|change|final|estimated){0,60}"
)
_REASONS = (
    "because|since|as|given|due|with|for|weil|da|denn|car|parce|porque|pues|perché"
    "|потому|因为|因為|です|입니다"
)
_OTHERS = "or|and|then|but|maybe|perhaps|rather|to|oder|und|ou|et|o|y|e|или|и|或|和"
_ABOUT = r"about|approximately|approx\.?|around|roughly|~|≈|ca\.?|etwa|environ|circa"
_PER_CENT = r"%|per ?cent|pct|/\s?100(?!\d)|out of 100|prozent|pour ?cent|por ?ciento"
TAKES_BACK = (
    "wait|correction|actually|no[,.]|hmm|scratch that|on second thought|on"
    " reflection|sorry|oops|that is wrong|that's wrong|i was wrong|my mistake|korrektur|moment|en"
    " fait|en realidad|поправка|更正|不对|訂正"
)
REFUSES = re.compile(
    r"(?i)\bi(?:'?m| am)? (?:\w+ )?(?:can(?:no|')?t|won't|will not|don't|unable to|not able to) "
    r"(?:\w+ ){0,2}(?:help|assist|comply|discuss|answer|provide|give|predict|determine|say|know)\b"
    r"|ich kann \w+ ?\w* ?nicht|je ne peux pas|no puedo|не могу|我(?:无法|不能)"
)

# Full-width, circled and special signs as plain ones; every text keeps its length.
_PLAIN: dict[int, str] = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_PLAIN |= {0x24B6 + i: chr(65 + i + 6 * (i > 25)) for i in range(52)}
_BLANKS = (0xA0, 0x3000, 0xFEFF, 0x2060, 0x205F, 0x202F, *range(0x2000, 0x2010))
_PLAIN |= dict.fromkeys(_BLANKS, " ") | dict.fromkeys((0x2028, 0x2029), "\n")
_PLAIN |= {0x2010: "-", 0x2011: "-", 0x2019: "'", 0x3002: ".", 0xFE6A: "%"}
_DECORATION = " \t\r\n*_`\"'“”‘«»「」『』【】()[]{}$\\.,;:!#>|~"
_CLOSE = r"[*_`\"'”»」』】\]})$]{0,9}"


def _patterns(names: str, nouns: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of tags, fields and statements about a question."""
    tags = rf"(?i)(?:<|&lt;)\s{{0,4}}(?P<end>/\s{{0,4}})?(?:{names})(?:\s[^<>&\n]{{0,100}})?/?"
    tags += r"(?:>|&gt;|\Z)"
    fields = (
        rf"(?i)(?<!\\)[\"'](?:{names})[\"']\s{{0,9}}:\s{{0,9}}"
        r"(?:\"([^\"\\\n]{0,200})\"|'([^'\\\n]{0,200})'|([-+.\d%]{1,30}))"
        r"|\\boxed\s{0,4}\{((?:[^{}\n]|\{[^{}\n]{0,60}\}){0,200})\}|<\|begin_of_box\|>([^<\n]{0,"
        r"200})"
        rf"|\[\[\s{{0,4}}##\s{{0,4}}(?:{names})\s{{0,4}}##\s{{0,4}}\]\]\s{{0,9}}([^\n]{{0,200}})"
    )
    statements = (
        r"(?im)(?:^|(?<=[.!?;])[ \t]{1,4}|(?<=,) (?=answer ?:))["
        r" \t>#*_`\"'“(•–-]{0,12}(?:\d{1,2}[.)] )?"
        rf"(?<!\w)(?:(?:{_BEFORE})[ ,*_]{{0,4}}){{0,5}}(?:{_NOUNS}|{nouns})(?![A-Za-zÀ-я0-9_-])["
        r" *_`\"'“”(\[{$]{0,30}"
        r"(?:correct[ae])?(?: {1,4}(?:of|for) {1,4}(?:yes|an? (?:effect|change)))?"
        rf" {{0,4}}(?:\({_SAME_EVENT}\))?[ *_]{{0,6}}(?:{_IS})[ :*_]{{0,6}}(?=([^\n]{{0,300}}))"
    )
    return re.compile(tags), re.compile(fields), re.compile(statements)


_MARKS: Mapping[Question, tuple[re.Pattern[str], ...]] = {
    "option": _patterns(
        "answer|final_answer|label|letter|choice|prediction|verdict",
        "label|letter|conclusion|choice|decision|antwoord|svar|回答|答え|更正|訂正|정답",
    ),
    "probability": _patterns(
        "prob|probability|answer|final_answer|estimate|p_de|p_up_given_de",
        "probability|prob|chance|likelihood|estimate|wahrscheinlichkeit|probabilité|probabilidad"
        "|вероятность|概率|確率|확률",
    ),
}
_INNER = re.compile(r"</?[a-zA-Z][^<>\n]{0,40}>|\\(?:text|math)(?:bf|rm|it)?(?=\s{0,4}\{)")
_JOINED = re.compile(rf"[\s,;/–-]{{0,9}}(?:{_OTHERS})?[\s,;/–-]{{0,9}}<[^<>\n]{{0,40}}>")
_BACK = re.compile(rf"(?i)[\s*_(\[\].,;:!>)]{{0,9}}(?:{TAKES_BACK})(?![a-zа-я])")
_LEAD = re.compile(  # "B. The gene …", no initials
    r"[\s*_(\[]{0,9}([A-Z])[*_]{0,3}([)\].:])[*_]{0,3}(?:\s+(?=[A-Z\"“(*])"
    r"|(?=[^\x00-\x7f]))(?![*_(\[]{0,4}[A-Z][*_]{0,3}[.)\]:])"
)
_DRESS = rf"[{re.escape(_DECORATION)}]*"
_BEGIN = re.compile(
    rf"(?i){_DRESS}(?:(?:the |die |la"
    rf" )?(?:option|letter|choice|answer|réponse|opción|选项){_DRESS})?"
)
_OPTION_ENDS = re.compile(rf"{_CLOSE}(?:[.;!](?!\w)(?!\s+[a-z])|\s{{0,4}}[,)(:–—\]]|\s+-\s)")
_REASON = re.compile(rf"(?i){_CLOSE}[\s,;:–—-]{{0,9}}(?:{_REASONS})(?![a-zа-я])")
_NEXT = re.compile(
    rf"(?i){_CLOSE}[\s*_`\"'“(\[:,;/=–—-]{{0,9}}(?:(?:{_OTHERS})(?![a-zа-я])\s{{0,"
    rf"4}})?[*_`\"'“(]{{0,4}}"
)
_NUMBER = (
    rf"(?:(?:{_ABOUT})\s{{0,4}})?([+-]?(?:[0-9]{{1,30}}(?:[.,][0-9]{{0,30}})?|[.,][0-9]{{1,30}}))"
    rf"(\s{{0,4}}\\?(?:{_PER_CENT}))?"
)
_NUMBER_ENDS = re.compile(
    rf"(?i){_CLOSE}(?:\s*\Z|[.;!](?!\w)|[ \t]{{0,4}}[,)](?!\s*[0-9])|["
    rf" \t]+\(|\s{{0,4}}(?:{_REASONS})(?!\w))"
)


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a reply has no answer."""

    reason: str


class Mark(NamedTuple):
    """A place that is marked as the answer; end: behind it and its closing tag."""

    form: Form
    start: int
    value: str
    end: int


_ReadValue = Callable[[Mark], T | Unread | None]  # None: what stands there is no answer


def read_label(reply: str) -> Label | Unread:
    """Return the label that a reply names by its letter (A up, B down, C none) or in words."""
    return read_option(reply, LABELS)


def read_option(reply: str, options: Mapping[str, T]) -> T | Unread:
    """Return the option that a reply names; letters in their own case. options: what may be written
    → a hashable value."""
    found = _read(reply, "option", *_option_reader(options))
    return found if isinstance(found, Unread) else found[0]


def read_probability(reply: str) -> float | Unread:
    """Return the probability that a reply states in per cent, in [0, 1].

    A number above 0 and up to 1 with decimals and no per cent sign may be a fraction: unread.
    """
    found = _read(reply, "probability", _read_percent, "a number from 0 to 100")
    return found if isinstance(found, Unread) else found[0]


def find_letter(answer: str, letters: Sequence[str]) -> tuple[str, int] | Unread:
    """Return the letter in the tag or field that counts, written in any case, and its offset."""
    if not any(pattern.search(readable(answer)) for pattern in _MARKS["option"][:2]):
        return Unread("no <answer>")
    found = _read(answer, "option", *_option_reader({letter: letter for letter in letters}))
    if isinstance(found, Unread):
        return found
    letter, mark = found
    return letter, mark.start + len(mark.value) - len(_BEGIN.sub("", mark.value, count=1))


def readable(text: str) -> str:
    """Return a text with plain signs for full-width, circled and special ones; its length stays."""
    return text.translate(_PLAIN)


def _read(
    reply: str, question: Question, read: _ReadValue[T], expected: str
) -> tuple[T, Mark] | Unread:
    """Return the value of the mark that counts and that mark, or why there is none."""
    parts = part_thinking(reply)
    if parts.text is None:
        return Unread(
            f"{'only thinking' if parts.thinking else 'an empty text'}, expected {expected}"
        )
    plain = "\n" * parts.start + readable(reply[parts.start : parts.end])
    text = without_tool_calls(plain)
    called = "a tool call is written as text, and " if text != plain else ""
    problem = Unread(f"{called}no answer is marked, expected {expected}")
    tags, fields, statements = _MARKS[question]
    # without the tags and commands inside values
    bare = _INNER.sub(lambda tag: " " * len(tag[0]), text)
    forms = [
        _tags(tags, text, bare),
        _marks("field", fields, bare),
        _marks("statement", statements, bare),
    ]
    forms.append(_lines(text, question))
    for strength, marks in enumerate(forms):
        values = [(mark, value) for mark in marks if (value := read(mark)) is not None]
        if strength < 3 and [mark for mark, _ in values[-1:]] != marks[-1:]:
            stands = repr(marks[-1].value.strip()[:40]) if marks[-1].value.strip() else "nothing"
            problem = Unread(f"{stands} is marked as the answer, expected {expected}")
            if strength < 2:
                return problem
        if values:
            behind = values[-1][0].end
            return _agree(
                text,
                values,
                [
                    read(mark)
                    for form in forms[strength + 1 :]
                    for mark in form
                    if mark.start >= behind
                ],
            )
    return problem


def _agree(
    text: str, values: list[tuple[Mark, T | Unread]], later: list[T | Unread | None]
) -> tuple[T, Mark] | Unread:
    """Return the last value, unless others or weaker marks differ, or the next words take it back.

    Of tags and fields one before the last counts only if it is joined to it ("… or …").
    """
    last = values[-1][0]
    if last.form in ("tag", "field"):
        values = [
            (mark, value)
            for mark, value in values
            if mark is last or _JOINED.fullmatch(text, mark.end, last.start)
        ]
    unread = [value for _, value in values if isinstance(value, Unread)]
    different = {
        value
        for value in (*(value for _, value in values), *later)
        if not isinstance(value, Unread | None)
    }
    if unread:
        return unread[0]
    if len(different) > 1:
        return Unread(f"{len(different)} different answers are marked, expected one")
    if _BACK.match(text, last.end):
        return Unread("what follows the answer takes it back")
    if last.form == "line" and REFUSES.search(text, 0, last.start):
        return Unread("it declines to answer")
    return different.pop(), last


def _tags(pattern: re.Pattern[str], text: str, bare: str) -> list[Mark]:
    """Return what stands between a tag and the next; if none is closed, the line behind the
    last."""
    tags = list(pattern.finditer(text))
    spans = [
        (tag.end(), after.start(), after.end())
        for tag, after in pairwise(tags)
        if not tag["end"] and (after["end"] or text[tag.end() : after.start()].strip())
    ]
    if tags and not spans and not tags[-1]["end"]:
        line = next(re.finditer(r"\s*[^\n]*", text[tags[-1].end() :]))
        spans = [(tags[-1].end(), tags[-1].end() + line.end(), tags[-1].end() + line.end())]
    return [Mark("tag", start, bare[start:stop], end) for start, stop, end in spans]


def _marks(form: Form, pattern: re.Pattern[str], text: str) -> list[Mark]:
    """Return what stands in the one group that matches, unless it is decoration."""
    found = [(match, match.lastindex or 0) for match in pattern.finditer(text)]
    return [
        Mark(form, m.start(i), m[i], max(m.end(), m.start(i) + 1))
        for m, i in found
        if m[i].strip(_DECORATION)
    ]


def _lines(text: str, question: Question) -> list[Mark]:
    """Return the lines (of numbers the first, last and with %), and the letter that begins the
    first, or ends all as "A) …"."""
    lines = [line for line in re.finditer(r"[^\n]+", text) if line[0].strip(_DECORATION)]
    leads = [lead for line in lines if (lead := _LEAD.match(text, line.start(), line.end()))]
    signs = {lines[-1].start(): ")", lines[0].start(): ")].:"} if lines else {}
    is_list = len({lead[1] for lead in leads}) > 1
    leads = [lead for lead in leads if not is_list and lead[2] in signs.get(lead.start(), "")]
    if question == "probability":
        lines = [line for line in lines if line in (lines[0], lines[-1]) or "%" in line[0]]
    marks = [Mark("line", lead.start(1), lead[1], lead.end()) for lead in leads]
    return marks + [Mark("line", line.start(), line[0], line.end()) for line in lines]


def _option_reader(options: Mapping[str, T]) -> tuple[_ReadValue[T], str]:
    """Return what reads an option, and what is expected. Words count in any case, letters in their
    own."""
    by_name = {name.casefold(): option for name, option in options.items()}
    pattern = _pattern_of(tuple(options))

    def read(mark: Mark) -> T | Unread | None:
        value, is_asked_for = _BEGIN.sub("", mark.value, count=1), mark.form in ("tag", "field")
        if is_asked_for or len(value.strip(_DECORATION)) == 1:  # in any case
            value = value[:1].upper() + value[1:]
        name = pattern.match(value)
        if not name:
            return None
        rest = value[name.end() :]
        following = _NEXT.sub("", rest, count=1)
        other = pattern.match(following)
        others, rest = ([other[1]], following[other.end() :]) if other else ([], rest)
        is_all = not rest.strip(_DECORATION) or bool(_REASON.match(rest))
        if is_asked_for and not is_all:
            others += [letter for letter in pattern.findall(rest) if len(letter) == 1]
        if any(by_name[each.casefold()] != by_name[name[1].casefold()] for each in others):
            return Unread(f"{name[1]} and {others[0]} are named, expected one")
        goes_on = mark.form != "line" and _OPTION_ENDS.match(rest)
        is_short = not is_asked_for or (len(name[1]) == 1 and len(rest) <= 120)
        return by_name[name[1].casefold()] if is_all or (goes_on and is_short) else None

    letters = [name for name in options if len(name) == 1]
    return read, f"one of {', '.join(letters or options)}"


@lru_cache(maxsize=64)
def _pattern_of(names: tuple[str, ...]) -> re.Pattern[str]:
    listed = sorted(map(re.escape, names), key=len, reverse=True)
    named = "|".join(name if len(name) == 1 else f"(?i:{name})" for name in listed)
    return re.compile(rf"(?<![\w-])({named})(?![A-Za-z0-9_]|-[A-Za-z0-9])")


def _read_percent(mark: Mark) -> float | Unread | None:
    """Return the probability that begins a value and is all of it, or goes on as its form
    allows."""
    value = mark.value.lstrip(re.sub("[.,>]", "", _DECORATION))
    number = re.match(rf"(?i){_NUMBER}", value)
    if not number:
        return None
    rest, percent = value[number.end() :], float(number[1].replace(",", "."))
    again = re.match(rf"(?i)\s{{0,4}}\({_NUMBER}\)", rest)  # "0.62 (62%)"
    if again and again[2] and abs(100 * percent - float(again[1].replace(",", "."))) <= 1:
        number, rest, percent = again, rest[again.end() :], 100 * percent
    is_all = not rest.strip(_DECORATION) or (mark.form != "line" and _NUMBER_ENDS.match(rest))
    if not is_all or (mark.form == "line" and not number[2] and mark.value.rstrip()[-1] in ".)"):
        return None  # or "1." and "2)", of a list
    decimals = re.split("[.,]", f"{number[1]}.")[1]
    if "," in number[1] and len(decimals) > 2:
        return Unread(
            f"{number[1]} may have thousands or decimals, expected a number from 0 to 100"
        )
    if not 0 <= percent <= 100:
        return Unread(f"{percent:g} lies outside 0 to 100")
    if decimals and not number[2] and 0 < percent <= 1:
        scale = "may be a fraction or per cent, expected per cent from 0 to 100"
        return Unread(f"{number[1]} {scale}, such as {100 * percent:g} for {percent:g}")
    return abs(percent) / 100


def find_objects(text: str) -> Iterator[JsonObject]:
    """Yield the outermost JSON objects of a text in their order; what looks like one and cannot be
    read is passed over."""
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


def find_list(text: str, name: str) -> list[Any] | None:
    """Return the list of a name in the last JSON object of a text that has one; None without
    any."""
    lists = [value[name] for value in find_objects(text) if isinstance(value.get(name), list)]
    return lists[-1] if lists else None


_REASONING = {"type": "string"}
_PERCENT_FIELD = {"type": "integer", "minimum": 0, "maximum": 100}


class AnswerSchema(NamedTuple):
    """The JSON object that an answer is. form: as prompts show it; response_format: the
    parameter."""

    form: str
    response_format: str


def letter_schema(letters: Sequence[str], *, reasoned: bool = False) -> AnswerSchema:
    """Return the schema of one of these letters. reasoned: whether reasons stand before it."""
    field = {"type": "string", "enum": [*letters]}
    return _schema({"answer": field}, '"X"', reasoned=reasoned)


def percent_schema(*names: str) -> AnswerSchema:
    """Return the schema of fields of these names, each a whole number from 0 to 100, behind
    reasons."""
    return _schema(dict.fromkeys(names, _PERCENT_FIELD), "NN", reasoned=True)


def _schema(answers: Mapping[str, Any], example: str, *, reasoned: bool) -> AnswerSchema:
    fields = {"reasoning": _REASONING, **answers} if reasoned else answers
    shown = (
        '"reasoning": "…"' if name == "reasoning" else f'"{name}": {example}' for name in fields
    )
    form = f"{{{', '.join(shown)}}}"
    schema = {"type": "object", "properties": fields, "required": [*fields]}
    answer = {"name": "answer", "strict": True, "schema": {**schema, "additionalProperties": False}}
    return AnswerSchema(form, json.dumps({"type": "json_schema", "json_schema": answer}))
