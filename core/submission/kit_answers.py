"""Reads answers in prose as the starter kit does: by options ("B)") and by words ("up-regulation", "no significant change").

It is wider than `core.llm.parsing`, which runs obey and which reads no prose, and narrower than the kit where the kit is wrong: a
word that is denied ("no upregulation") is no answer, nor is the letter of a name ("vitamin C"). `docs/starter_kit.md` lists
every difference that is known.
"""

from __future__ import annotations

import re
from itertools import chain

from core.llm.answer_words import TAKES_BACK
from core.llm.final_text import final_text
from core.llm.marks import readable, refuses
from core.llm.parsing import OPTIONS, Unparsed, label
from core.types import Label

_ANSWER = re.compile(r"\banswer\s*:", re.IGNORECASE)
_OPTION = re.compile(
    r"(?:^|[.:;,!?(\[*\"'>]|\b(?:option|choice|letter|answer|is|be|as|by|with|or|and|choose|select|pick|conclude|predict))"
    r"[\s*_(\[]{0,6}(?-i:([ABC])|([abc]))\)",
    re.IGNORECASE | re.MULTILINE,
)
_LETTER_LINE = re.compile(r"^\W*([ABC])\W*$", re.IGNORECASE | re.MULTILINE)
_WORDS = {  # with any hyphen: GPT-OSS writes U+2011
    Label.UP: re.compile(
        r"(?<![a-z])(?:up[-‐‑]?regulat\w*|up[-‐‑](?=\s?(?:or|nor|and|/))|increase[sd]?)(?![a-z])", re.IGNORECASE
    ),
    Label.DOWN: re.compile(
        r"(?<![a-z])(?:down[-‐‑]?regulat\w*|down[-‐‑](?=\s?(?:or|nor|and|/))|decrease[sd]?)(?![a-z])", re.IGNORECASE
    ),
}
_UNCHANGED = re.compile(
    r"\b(?:does|do|did|will|would|should|is|are) ?(?:not|n['’]t) (?:significantly|impact|affect|change|alter)"
    r"|\bno (?:(?:statistically )?significant|differential|measurable|detectable) (?:\w+ ){0,2}?"
    r"(?:effect|change|impact|difference|differential|alteration|response|expression)"
    r"|\bno significant(?! (?:\w+ )?(?:up|down|increase|decrease|evidence|doubt|reason))"
    r"|\bnot (?:\w+ ){0,5}?(?:result in (?:a )?differential|significantly (?:affect|change|alter|impact))"
    r"|^\W*no[.\s]*$",
    re.IGNORECASE | re.MULTILINE,
)
_CLAUSE = re.compile(
    r"[.;:!?\n]|,(?! (?:or|nor|and)\b)"
    r"|\b(?:but|however|whereas|while|although|because|since|so|instead|rather)\b(?! (?:of|than))",
    re.IGNORECASE,
)
_DENIES_BEFORE = re.compile(
    r"\b(?:no|not|never|neither|nor|without|cannot|unlikely|fails? to|instead of|rather than|exclud\w+|rul\w+ out)\b|n['’]t\b",
    re.IGNORECASE,
)
_DENIES_AFTER = re.compile(
    r"\s+(?:(?:is|are|was|seems?|looks?|would be|can be)\s+)(?:\w+ ){0,2}?"
    r"(?:unlikely|excluded|implausible|ruled out|not|absent|wrong)\b",
    re.IGNORECASE,
)


def read_answer(text: str) -> Label | None:
    """Return the label that a reply names, None if it names none, two, or takes its answer back.

    What is marked as the answer counts (`core.llm.parsing.label`); without a mark, and where marks differ, what stands behind the
    last "Answer:" or on the last line; else the whole text, as in the starter kit.
    """
    reply = final_text(text).text
    if reply is None:
        return None
    found = label(reply)
    if not isinstance(found, Unparsed):
        return found
    plain = readable(reply)
    if refuses(plain, ()):
        return None
    for part in (_answer_part(plain), plain):
        named = _named_in(part)
        if len(named) == 1:
            return named.pop()
    return None


def _answer_part(text: str) -> str:
    """Return what follows the last "Answer:", else the last line that is not empty."""
    marks = list(_ANSWER.finditer(text))
    return text[marks[-1].end() :].strip() if marks else text.strip().rpartition("\n")[2]


def _named_in(text: str) -> set[Label]:
    """Return the labels that a part of a text names; none if what follows the first of them takes it back."""
    letters = [(each.start(), each[1] or each[2]) for each in _OPTION.finditer(text)]
    letters += [(each.start(), each[1]) for each in _LETTER_LINE.finditer(text)]
    places = {(at, OPTIONS[letter.upper()]) for at, letter in letters}
    places |= {(each.start(), Label.NONE) for each in _UNCHANGED.finditer(text)}
    denied: set[Label] = set()
    for side, words in _WORDS.items():
        for each in words.finditer(text):
            if _is_denied(text, each):
                denied.add(side)
            else:
                places.add((each.start(), side))
    if denied == set(_WORDS) and not places:
        return {Label.NONE}
    if places and TAKES_BACK.search(text, min(at for at, _ in places) + 1):
        return set()
    return {found for _, found in places}


def _is_denied(text: str, word: re.Match[str]) -> bool:
    """Whether the clause of a word says that it is not so."""
    begin = max(chain((each.end() for each in _CLAUSE.finditer(text, 0, word.start())), (0,)))
    return bool(_DENIES_BEFORE.search(text, begin, word.start()) or _DENIES_AFTER.match(text, word.end()))
