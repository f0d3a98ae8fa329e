"""Read what a model answers where its reply marks it: a label, another option, or a probability.

Marks are, the strongest first: a tag (<answer>B</answer>), a field (JSON, DSPy, a LaTeX box), a
statement ("Answer: B" or "The answer is B" where a line or sentence begins), and an answer alone on
its line. The last one of the strongest form counts, whatever prose stands around it. It is unread if
a later mark says otherwise or the next words take it back, and so are statements and lines that
differ: to ask once more is cheap. What nothing marks is unread. Every search takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal, NamedTuple, TypeVar

from core.llm.thinking import part_thinking, without_tool_calls
from core.types import Label

T = TypeVar("T")
Question = Literal["option", "probability"]
Form = Literal["tag", "field", "statement", "line"]

OPTIONS = {"A": Label.UP, "B": Label.DOWN, "C": Label.NONE}
_WORDS = {
    Label.UP: "up|upregulated|up-regulated|upregulation|up-regulation|goes up|increase|increased|increases",
    Label.DOWN: "down|downregulated|down-regulated|downregulation|down-regulation|goes down|decrease|decreased|decreases",
    Label.NONE: "none|no change|no effect|no_change|no_effect|unchanged|not changed|no significant change|neither",
}
LABELS = OPTIONS | {word: label for label, words in _WORDS.items() for word in words.split("|")}

# What an answer is called, the words that may stand before, and what joins it to the answer.
_NOUNS = "answer|verdict|prediction|final|correction|antwort|korrektur|réponse|reponse|respuesta|risposta|resposta|ответ|答案"
_NOUNS_OF: Mapping[Question, str] = {
    "option": f"{_NOUNS}|label|letter|conclusion|choice|decision|antwoord|svar|回答|答え|更正|訂正|정답",
    "probability": f"{_NOUNS}|probability|prob|chance|likelihood|estimate|wahrscheinlichkeit"
    "|probabilité|probabilidad|вероятность|概率|確率|확률",
}
_BEFORE = (
    "no|nein|wait|actually|the|my|our|an?|so|thus|therefore|hence|and|final|correct|right|best"
    "|likely|most|predicted|estimated|overall|die|der|meine|richtige|la|le|ma|bonne|finale|mi"
    "|correcta|il|mia|corretta|minha|correta|правильный|мой|因此|所以|最终|最終|正确"
)
_IS = (
    r"(?:is|must be|remains|ist|lautet|est|es|è|é)(?!\w)"
    r"(?: (?:therefore|thus|clearly|likely|probably|donc|de)(?!\w))?|[:=–—是为は은]"
)
_OF = "(?: {1,4}(?:of|for) {1,4}(?:yes|an? (?:effect|change)))?"
_SAME_EVENT = r"(?:[\s\d%–/.,:-]|in|to|per|cent|of|de|yes|an?|the|effect|any|change|final|estimated)*"
_REASONS = "because|since|as|given|due|with|for|weil|da|denn|car|parce|porque|pues|perché|потому|因为|因為|です|입니다"
_OTHERS = "or|and|then|but|maybe|perhaps|rather|to|oder|und|ou|et|o|y|e|или|и|或|和"
_OPTION = r"(?:the\s|die\s|la\s)?(?:option|letter|choice|answer|réponse|opción|选项)\s{0,4}:?\s{0,4}"
_ABOUT = r"about|approximately|approx\.?|around|roughly|~|≈|ca\.?|etwa|environ|circa"
_PER_CENT = r"%|per ?cent|pct|/\s?100(?!\d)|out of 100|prozent|pour ?cent|por ?ciento"
TAKES_BACK = (
    "wait|correction|actually|no[,.]|hmm|scratch that|on second thought|on reflection|sorry|oops"
    "|that is wrong|that's wrong|i was wrong|my mistake|korrektur|moment|en fait|en realidad"
    "|поправка|更正|不对|訂正"
)
REFUSES = re.compile(
    r"\bi(?:'?m| am)? (?:\w+ )?(?:can(?:no|')?t|won't|will not|don't|unable to|not able to) "
    r"(?:\w+ ){0,2}(?:help|assist|comply|discuss|answer|provide|give|predict|determine|say|know)\b"
    r"|ich kann \w+ ?\w* ?nicht|je ne peux pas|no puedo|не могу|我(?:无法|不能)",
    re.IGNORECASE,
)

# Full-width, circled and special signs as plain ones; every text keeps its length.
_PLAIN: dict[int, str] = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_PLAIN |= {0x24B6 + i: chr(65 + i + 6 * (i > 25)) for i in range(52)}
_BLANKS = (0xA0, 0x3000, 0xFEFF, 0x2060, 0x205F, 0x202F, *range(0x2000, 0x2010))
_PLAIN |= dict.fromkeys(_BLANKS, " ") | dict.fromkeys((0x2028, 0x2029), "\n")
_PLAIN |= {0x2010: "-", 0x2011: "-", 0x2019: "'", 0x3002: ".", 0xFE6A: "%"}
_DECORATION = " \t\r\n*_`\"'“”‘«»「」『』【】()[]{}$\\.,;:!#>|~"
_CLOSE = r"[*_`\"'”»」』】\]})$]{0,9}"

_NAMES: Mapping[Question, str] = {
    "option": "answer|final_answer|label|letter|choice|prediction|verdict",
    "probability": "prob|probability|answer|final_answer|estimate|p_de|p_up_given_de",
}
_INNER = re.compile(r"</?[a-zA-Z][^<>\n]{0,40}>|\\(?:text|math)(?:bf|rm|it)?(?=\s{0,4}\{)")
_NUMBER = (
    rf"(?:(?:{_ABOUT})\s{{0,4}})?([+-]?(?:[0-9]{{1,30}}(?:[.,][0-9]{{0,30}})?|[.,][0-9]{{1,30}}))"
    rf"(\s{{0,4}}\\?(?:{_PER_CENT}))?"
)
_NUMBER_ENDS = re.compile(
    rf"{_CLOSE}(?:\s*\Z|[.;!](?!\w)|[ \t]{{0,4}}[,)](?!\s*[0-9])|[ \t]+\("
    rf"|\s{{0,4}}(?:{_REASONS})(?!\w))",
    re.IGNORECASE,
)
_OPTION_ENDS = re.compile(rf"{_CLOSE}(?:[.;!](?!\w)(?!\s+[a-z])|\s{{0,4}}[,)(:–—\]]|\s+-\s)")
_REASON = re.compile(rf"{_CLOSE}[\s,;:–—-]{{0,9}}(?:{_REASONS})(?![a-zа-я])", re.IGNORECASE)
_NEXT = re.compile(
    rf"{_CLOSE}[\s*_`\"'“(\[:,;/=–—-]{{0,9}}(?:(?:{_OTHERS})(?![a-zа-я])\s{{0,4}})?[*_`\"'“(]{{0,4}}",
    re.IGNORECASE,
)
_LEAD = re.compile(r"[\s*_(\[]{0,9}([A-Z])[*_]{0,3}[)\].:][*_]{0,3}(?:\s+(?=[A-Z\"“(*])|(?=[^\x00-\x7f]))")
_ONE_MORE = re.compile(r"[*_(\[]{0,4}[A-Z][*_]{0,3}[.)\]:]")  # a list on one line, or initials
_BACK = re.compile(rf"[\s*_(\[\].,;:!>)]{{0,9}}(?:{TAKES_BACK})(?![a-zа-я])", re.IGNORECASE)
_JOINED = re.compile(rf"[\s,;/–-]{{0,9}}(?:{_OTHERS})?[\s,;/–-]{{0,9}}<[^<>\n]{{0,40}}>")
_LONGEST_LINE, _LONGEST_GLOSS, _MOST_STATEMENTS = 300, 120, 200


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
    """Return the option that a reply names. options: what may be written → a hashable value.

    A letter in a statement counts in its own case only; it may be followed by its meaning.
    """
    letters = [name for name in options if len(name) == 1]
    expected = f"one of {', '.join(letters or options)}"
    found = _read(reply, "option", partial(_option_in, options), expected)
    return found if isinstance(found, Unread) else found[1]


def read_probability(reply: str) -> float | Unread:
    """Return the probability that a reply states in per cent, in [0, 1].

    A number above 0 and up to 1 with decimals and no per cent sign may be a fraction: unread.
    """
    found = _read(reply, "probability", _percent_in, "a number from 0 to 100")
    return found if isinstance(found, Unread) else found[1]


def find_letter(answer: str, letters: Sequence[str]) -> tuple[str, int] | Unread:
    """Return the letter in the <answer>…</answer> that counts, written in any case, and its offset."""
    options = {letter: letter for letter in letters}
    if not _tags(readable(answer), "option"):
        return Unread("no <answer>")
    found = _read(answer, "option", partial(_option_in, options), f"one of {', '.join(letters)}")
    if isinstance(found, Unread):
        return found
    mark, letter = found
    return letter, mark.start + _start_of_option(mark.value)


def readable(text: str) -> str:
    """Return a text with plain signs for full-width, circled and special ones; its length stays."""
    return text.translate(_PLAIN)


def _read(reply: str, question: Question, read: _ReadValue[T], expected: str) -> tuple[Mark, T] | Unread:
    """Return the mark that counts and its value, or why there is none."""
    parts = part_thinking(reply)
    if parts.text is None:
        return Unread(f"{'only thinking' if parts.thinking else 'an empty text'}, expected {expected}")
    plain = "\n" * parts.start + readable(reply[parts.start : parts.end])
    text = without_tool_calls(plain)
    called = "a tool call is written as text, and " if text != plain else ""
    problem = Unread(f"{called}no answer is marked, expected {expected}")
    forms = [find(text, question) for find in (_tags, _fields, _statements, _lines)]
    for strength, marks in enumerate(forms):
        values = [(mark, value) for mark in marks if (value := read(mark)) is not None]
        is_asked_for = strength < 2
        if marks and marks[0].form != "line" and values[-1:] != [(marks[-1], read(marks[-1]))]:
            stands = repr(marks[-1].value.strip()[:40]) if marks[-1].value.strip() else "nothing"
            problem = Unread(f"{stands} is marked as the answer, expected {expected}")
            if is_asked_for:
                return problem
        if values:
            before = [
                each for each in values[:-1] if not is_asked_for or _JOINED.fullmatch(text[each[0].end : values[-1][0].start])
            ]
            weaker = [each for rest in forms[strength + 1 :] for each in rest]
            after = [each for each in weaker if each.start >= values[-1][0].end]
            return _agreed(text, [*before, values[-1]], [read(each) for each in after])
    return problem


def _agreed(text: str, values: list[tuple[Mark, T | Unread]], later: list[T | Unread | None]) -> tuple[Mark, T] | Unread:
    """Return the last value, unless others or weaker marks after it differ, or it is taken back."""
    mark, value = values[-1]
    for _, each in values:
        if isinstance(each, Unread):
            return each
    known = [each for each in later if each is not None and not isinstance(each, Unread)]
    different = {each for _, each in values} | {*known}
    if len(different) > 1:
        return Unread(f"{len(different)} different answers are marked, expected one")
    if _BACK.match(text, mark.end):
        return Unread("what follows the answer takes it back")
    if mark.form == "line" and REFUSES.search(text, 0, mark.start):
        return Unread("it declines to answer")
    assert not isinstance(value, Unread)
    return mark, value


@cache
def _tag_pattern(question: Question) -> re.Pattern[str]:
    return re.compile(
        rf"(?:<|&lt;)\s{{0,4}}(?P<end>/\s{{0,4}})?(?P<name>{_NAMES[question]})"
        r"(?:\s[^<>&\n]{0,100})?/?(?:>|&gt;|\Z)",
        re.IGNORECASE,
    )


def _tags(text: str, question: Question) -> list[Mark]:
    """Return what each <tag>…</tag> holds; if none is closed, the first line of an open one.

    A tag that is opened again where it should be closed is closed.
    """
    marks: list[Mark] = []
    opened: dict[str, int] = {}
    for tag in _tag_pattern(question).finditer(text):
        name = tag["name"].lower()
        if name in opened and (tag["end"] or text[opened[name] : tag.start()].strip()):
            start = opened.pop(name)
            marks.append(Mark("tag", start, _without_inner(text[start : tag.start()]), tag.end()))
        elif not tag["end"]:
            opened[name] = tag.end()
    for start in () if marks else opened.values():
        begin = len(text) - len(text[start:].lstrip())
        line = text[start : (text.find("\n", begin) + 1 or len(text) + 1) - 1]
        marks.append(Mark("tag", start, _without_inner(line), start + len(line)))
    return marks


def _without_inner(value: str) -> str:
    """Return a value with blanks for the tags and commands inside it."""
    return _INNER.sub(lambda tag: " " * len(tag[0]), value)


@cache
def _field_pattern(question: Question) -> re.Pattern[str]:
    names = _NAMES[question]
    return re.compile(
        rf"(?<!\\)[\"'](?:{names})[\"']\s{{0,9}}:\s{{0,9}}"
        r"(?:\"([^\"\\\n]{0,200})\"|'([^'\\\n]{0,200})'|([-+.\d%]{1,30}))"
        r"|\\boxed\s{0,4}\{((?:[^{}\n]|\{[^{}\n]{0,60}\}){0,200})\}"
        r"|<\|begin_of_box\|>([^<\n]{0,200})"
        rf"|\[\[\s{{0,4}}##\s{{0,4}}(?:{names})\s{{0,4}}##\s{{0,4}}\]\]\s{{0,9}}([^\n]{{0,200}})",
        re.IGNORECASE,
    )


def _fields(text: str, question: Question) -> list[Mark]:
    """Return the values of JSON members, LaTeX and GLM boxes and DSPy fields."""
    found = [(m.start(m.lastindex or 0), m) for m in _field_pattern(question).finditer(text)]
    return [Mark("field", at, _without_inner(m[m.lastindex or 0]), m.end()) for at, m in found]


@cache
def _statement_pattern(question: Question) -> re.Pattern[str]:
    return re.compile(
        r"(?:^|(?<=[.!?;])[ \t]{1,4}|(?<=,) (?=answer ?:))[ \t>#*_`\"'“(•–-]{0,12}(?:\d{1,2}[.)] )?"
        rf"(?<!\w)(?:(?:{_BEFORE})[ ,*_]{{0,4}}){{0,5}}(?:{_NOUNS_OF[question]})(?![A-Za-zÀ-я0-9_-])"
        rf"[ *_`\"'“”(\[{{$]{{0,30}}(?:correct[ae])?{_OF}[ ]{{0,4}}(?:\((?P<aside>[^()\n]{{0,60}})\))?"
        rf"[ *_]{{0,6}}(?:{_IS})[ :*_]{{0,6}}(?=(?P<value>[^\n]{{0,{_LONGEST_LINE}}}))",
        re.IGNORECASE | re.MULTILINE,
    )


def _statements(text: str, question: Question) -> list[Mark]:
    """Return what follows "Answer:", "The answer is" and their like.

    Brackets that name another event than the one asked for stand before a number then.
    """
    marks = []
    for each in list(_statement_pattern(question).finditer(text))[-_MOST_STATEMENTS:]:
        start, value, aside = each.start("value"), each["value"], each["aside"]
        if question == "probability" and not re.fullmatch(_SAME_EVENT, aside or "", re.IGNORECASE):
            value = f"{aside}: {value}"
        if value.strip(_DECORATION):
            marks.append(Mark("statement", start, value, start + 1))
    return marks


def _lines(text: str, question: Question) -> list[Mark]:
    """Return the lines that may be nothing but an answer; the first may go on ("B. The gene …").

    A number stands alone on the first or last line, or has its unit.
    """
    lines = [each for each in re.finditer(r"[^\n]+", text) if each[0].strip(_DECORATION)]
    marks = [
        Mark("line", each.start(), each[0], each.end())
        for each in lines
        if len(each[0]) <= _LONGEST_LINE and (question == "option" or each in (lines[0], lines[-1]) or "%" in each[0])
    ]
    leads = [lead for each in lines if (lead := _LEAD.match(text, each.start(), each.end()))]
    if leads and leads[0].start() == lines[0].start() and len({lead[1] for lead in leads}) == 1:
        start, end = leads[0].span()
        if not _ONE_MORE.match(text, end):
            marks.insert(0, Mark("line", start, leads[0][1], end))
    return marks


@cache
def _option_pattern(options: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of an option as a whole word; letters in their own case."""
    listed = [re.escape(each) for each in sorted(options, key=len, reverse=True)]
    words = "|".join(each for each in listed if len(each) > 1) or "(?!)"
    letters = "|".join(each for each in listed if len(each) == 1) or "(?!)"
    return re.compile(rf"(?<![\w-])((?i:{words})|{letters})(?![A-Za-z0-9_]|-[A-Za-z0-9])")


def _start_of_option(value: str) -> int:
    """Return where the option begins: after decoration and words such as "option"."""
    begin = len(value) - len(value.lstrip(_DECORATION))
    prefix = re.compile(_OPTION, re.IGNORECASE).match(value, begin)
    return len(value) - len(value[prefix.end() :].lstrip(_DECORATION)) if prefix else begin


def _option_in(options: Mapping[str, T], mark: Mark) -> T | Unread | None:
    """Return the option that begins a value and is all of it, or goes on as its form allows."""
    value, pattern = mark.value[_start_of_option(mark.value) :], _option_pattern(tuple(options))
    by_name = {name.casefold(): option for name, option in options.items()}
    is_asked_for = mark.form in ("tag", "field")
    is_any_case = is_asked_for or len(value.strip(_DECORATION)) == 1
    named = pattern.match(value[:1].upper() + value[1:] if is_any_case else value)
    if not named:
        return None
    found, rest = by_name[named[1].casefold()], value[named.end() :]
    following = _NEXT.match(rest)
    other = pattern.match(rest, following.end()) if following and following.end() else None
    if other and by_name[other[1].casefold()] != found:
        return Unread(f"{named[1]} and {other[1]} are named, expected one")
    rest = rest[other.end() :] if other else rest
    if (not rest.strip(_DECORATION) and "?" not in rest) or _REASON.match(rest):
        return found
    if mark.form == "line" or not _OPTION_ENDS.match(rest):
        return None
    if is_asked_for and (len(named[1]) > 1 or len(rest) > _LONGEST_GLOSS):
        return None
    further = pattern.findall(rest) if is_asked_for else []
    if any(len(each) == 1 and by_name[each.casefold()] != found for each in further):
        return Unread(f"{named[1]} and {further[0]} are named, expected one")
    return found


def _percent_in(mark: Mark) -> float | Unread | None:
    """Return the probability that begins a value and is all of it, or goes on as its form allows."""
    value = mark.value.lstrip(re.sub("[.,>]", "", _DECORATION))
    found = re.compile(_NUMBER, re.IGNORECASE).match(value)
    if not found:
        return None
    rest = value[found.end() :]
    again = re.compile(rf"\s{{0,4}}\({_NUMBER}\)", re.IGNORECASE).match(rest)
    if again and again[2] and abs(100 * _value_of(found[1]) - _value_of(again[1])) <= 1:
        found, rest = again, rest[again.end() :]  # "0.62 (62%)"
    if mark.form == "statement":
        return _from_percent(found) if _NUMBER_ENDS.match(rest) else None
    is_item = mark.form == "line" and not found[2] and mark.value.rstrip()[-1] in ".)"
    has_gloss = mark.form != "line" and re.fullmatch(r"\s{0,4}\([^()\d\n]{0,60}\)[\s.]{0,4}", rest)
    is_all = not rest.strip(_DECORATION) or has_gloss
    return _from_percent(found) if is_all and not is_item else None


def _value_of(written: str) -> float:
    whole, _, decimals = written.replace(",", ".").partition(".")
    return float(f"{whole}.{decimals}0")


def _from_percent(found: re.Match[str]) -> float | Unread:
    """Return a number of per cent as a probability; with or without its unit."""
    number, value = found[1], _value_of(found[1])
    decimals = number.replace(",", ".").partition(".")[2]
    if "," in number and len(decimals) > 2:
        why = "may have thousands or decimals, expected a number from 0 to 100"
        return Unread(f"{number} {why}")
    if not 0 <= value <= 100:
        return Unread(f"{value:g} lies outside 0 to 100")
    if decimals and not found[2] and 0 < value <= 1:
        why = "may be a fraction or per cent, expected per cent from 0 to 100"
        return Unread(f"{number} {why}, such as {100 * value:g} for {value:g}")
    return abs(value) / 100
