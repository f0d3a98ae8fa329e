"""Rules: questions about a text of a run that no model answers.

A text is prepared for them once: what several rules need, such as whether a brief concludes for its
side or the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import MappingProxyType
from typing import Literal, NamedTuple

import core.methods.text_rules as room
from core.base.feature import declared_in, find_named

# The published question's options are A up, B down, C none; these contradict the side that a role
# argues for.
OPTIONS_AGAINST = {"EFFECT": "C", "NULL": "AB", "UP": "BC", "DOWN": "AC"}
_OPENING_OPTION = re.compile(r"\W*([ABC])\)")
_ANSWER = re.compile(
    r"\W*(?:(?:the )?(?:final |correct )?answer(?: is)?\W*)?([ABC])(?:\)|\.(?=\s|$)|:|\W*$)",
    re.IGNORECASE,
)
# Ends of lines, or white space between a full stop and the start of a sentence. The search can skip
# to its first characters.
_END = re.compile(r"[.!?\n](?:(?<=\n)\n*|[\"')\]]?(\s+)(?=[\"'(\[]?[A-Z0-9]))")
_WORD = re.compile(r"[^\W\d_]{2,}")
_OPTION_WORDS = ("answer", "option", "choice")
_NAMED_OPTION = re.compile(rf"\b(?i:{'|'.join(_OPTION_WORDS)})\W{{0,4}}([ABC])\b")
_PLAIN = {
    "‐": "-",
    "‑": "-",
    "–": "-",
    "—": "-",
    "’": "'",
    "\u202f": " ",
    "\u00a0": " ",
    "*": "",
}.items()


@dataclass(frozen=True, eq=False)  # without slots, because cached properties need a __dict__
class RuleText:
    """A brief, a verdict, or a whole row of a run; a whole row has no role and no stage.

    findings: from the audit of a brief at the time of storing, keys of
    `core.methods.brief_checks.FINDINGS`. flags: of the row's prediction. briefs: of a
    whole row, role and findings of each brief in order. has_dossier: whether the run saved its
    advocates' dossiers. citable: lower-case terms of the row's dossier, None if not loaded.
    """

    content: str
    role: str
    stage: str = ""
    pair_id: str = ""
    pert: str = ""
    gene: str = ""
    findings: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    briefs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    has_dossier: bool = False
    citable: Collection[str] | None = None

    @cached_property
    def answer(self) -> str:
        """The option A, B or C at the start of the text: alone, before a bracket, a full stop or a
        colon, or after "answer"; "" without one.
        """
        found = _ANSWER.match(self.content)
        return found[1].upper() if found else ""

    @cached_property
    def opening_option(self) -> str:
        """The option A, B or C at the start of the text, after non-word characters and before a
        closing bracket; "" without one.
        """
        found = _OPENING_OPTION.match(self.content)
        return found[1] if found else ""

    @cached_property
    def plain(self) -> str:
        """The content with plain hyphens, apostrophes and spaces, and without asterisks."""
        text = self.content
        for written, plain in _PLAIN:  # several times as fast as `str.translate`
            text = text.replace(written, plain)
        return text

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences of `plain`."""
        return split_sentences(self.plain)

    @cached_property
    def deciding_sentences(self) -> set[str]:
        """The first sentence and the last two, which contain conclusions."""
        return {*self.sentences[:1], *self.sentences[-2:]}

    @cached_property
    def lowered_deciding_lines(self) -> str:
        """The same in lower case, one sentence per line, because a case-insensitive search takes
        twice as long."""
        return "\n".join(self.deciding_sentences).lower()

    @cached_property
    def named_options(self) -> set[str]:
        """The first option after "answer", "option" or "choice" in each deciding sentence."""
        lines = self.lowered_deciding_lines
        # Looking for words takes a tenth of a search's time. Beyond ASCII, some letters match those
        # of words, such as "ſ".
        if lines.isascii() and not any(map(lines.__contains__, _OPTION_WORDS)):
            return set()
        return {found[1] for found in map(_NAMED_OPTION.search, self.deciding_sentences) if found}

    def is_against_own_side(self, option: str) -> bool:
        """Return whether an option contradicts the side of the text's role; False without an option
        or a side."""
        return option != "" and option in OPTIONS_AGAINST.get(self.role, "")


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text. Lines count as sentences; bare numbers and letters do not."""
    text, parts, start = text.strip(), [], 0
    for end in _END.finditer(text):
        # a full stop belongs to its sentence
        parts.append(text[start : max(end.start(), end.start(1))])
        start = end.end()
    parts.append(text[start:])
    return [part for part in parts if (part[:2].isalpha() and len(part) > 1) or _WORD.search(part)]


# Phrases with which a brief concludes for its own side or for the other. They would rather miss a
# brief than accuse it wrongly. Among the published briefs found to conclude for the other side, 100
# were read one by one (all that do not open with an option's letter, and a sample of the others):
# all 100 do. Of these, 96 are by UP or DOWN, 4 by EFFECT and none by NULL, so less is known about
# EFFECT and NULL. Among the briefs found to conclude for their own side, the deciding sentences of
# 157 were read (a sample: 106 do not open with an answer, and 16 are by UP): all 157 do. The number
# of missed briefs is unknown.
_TOUCH = (
    r"(?:affect|alter|change|influence|impact|modulate|perturb|shift|move|regulate|respond|have"
    r"|produce|cause|lead|result)"
)
_RISES = (
    r"\b(?:up-?regulat\w+|increas\w+|rises?|elevat\w+|induc(?:es|ed|tion)|go(?:es)?"
    r" up|higher|raises?|derepress\w+)\b"
)
_FALLS = (
    r"\b(?:down-?regulat\w+|decreas\w+|falls?|reduc(?:es|ed|e|tion)|lower\w*|diminish\w*|go(?:es)?"
    r" down|drops?)\b"
)
_RESULT = (
    r"\b(?:results? in|leads? to|causes?|produces?|(?:is|are) (?:expected|predicted|likely)"
    r" to|will|should)(?: [a-z]+){0,3}? "
)
# Sentences with these words discuss or report the other side and do not conclude for it.
_WEIGHS = (
    r"although|though|while|whereas|despite|rather than|instead|even if|rule"
    r" out|cannot|absence|opponent|opposing|however|but"
    r"|yet|than|exceeds?|acknowledge|uncertain\w*|caveat|could|may|might|possib\w+|if"
)
_DENIES = (
    r"no|not|none|unlikely|little|lacks?|without|rarely|neither|nor|never|null|low|against"
    r"|likelihood|would|implausible"
)
_CLAIMS = {
    "unchanged": (
        r"\bno (?:[a-z]+"
        r" ){0,3}?(?:change|effect|impact|alteration|difference|response|influence)s?\b"
        rf"|\b(?:not|unlikely to) (?:[a-z]+ly )?(?:be )?{_TOUCH}"
        r"|\b(?:unchanged|unaffected|unaltered)\b"
    ),
    "changed": rf"{_RESULT}(?:{_TOUCH}|{_RISES}|{_FALLS})",
    "up": (
        rf"{_RESULT}(?:{_RISES})|\b(?:is|be|are) (?:[a-z]+ly"
        r" )?(?:up-?regulated|increased|elevated|induced)\b"
    ),
    "down": (
        rf"{_RESULT}(?:{_FALLS})|\b(?:is|be|are) (?:[a-z]+ly"
        r" )?(?:down-?regulated|decreased|reduced|lowered)\b"
    ),
}
# Every phrase of a claim contains one of these. Most texts contain none; checking that takes a
# tenth of a search.
_RESULT_WORDS = (
    "result",
    "lead",
    "cause",
    "produce",
    "expected",
    "predicted",
    "likely",
    "will",
    "should",
)
_CLAIM_WORDS = {
    "unchanged": ("no ", "not ", "unlikely to ", "unchanged", "unaffected", "unaltered"),
    "changed": _RESULT_WORDS,
    "up": (*_RESULT_WORDS, "regulated", "increased", "elevated", "induced"),
    "down": (*_RESULT_WORDS, "regulated", "decreased", "reduced", "lowered"),
}


class _Statement(NamedTuple):
    """Phrases that state something, each with one of `words`, and words that rule out a conclusion;
    for a lower-case sentence."""

    words: tuple[str, ...]
    phrases: re.Pattern[str]
    unless: re.Pattern[str]


def _statement(claims: Sequence[str], unless: str) -> _Statement:
    words = dict.fromkeys(word for claim in claims for word in _CLAIM_WORDS[claim])
    return _Statement(
        tuple(words), re.compile("|".join(_CLAIMS[claim] for claim in claims)), re.compile(unless)
    )


_OTHER_SIDE = {
    "EFFECT": _statement(["unchanged"], rf"\b(?:{_WEIGHS}|leave)\b|{_RISES}|{_FALLS}"),
    "NULL": _statement(["changed"], rf"\b(?:{_WEIGHS}|{_DENIES}|diminish\w*)\b"),
    "UP": _statement(["unchanged", "down"], rf"\b(?:{_WEIGHS})\b|{_RISES}"),
    "DOWN": _statement(["unchanged", "up"], rf"\b(?:{_WEIGHS})\b|{_FALLS}"),
}
_OWN_SIDE = {
    "EFFECT": _statement(["changed"], rf"\b(?:{_WEIGHS}|{_DENIES})\b"),
    "NULL": _statement(["unchanged"], rf"\b(?:{_WEIGHS})\b|{_RISES}|{_FALLS}"),
    "UP": _statement(["up"], rf"\b(?:{_WEIGHS}|{_DENIES})\b|{_FALLS}"),
    "DOWN": _statement(["down"], rf"\b(?:{_WEIGHS}|{_DENIES})\b|{_RISES}"),
}
_OWN_OPTIONS = {
    role: "".join(sorted(set("ABC") - set(against))) for role, against in OPTIONS_AGAINST.items()
}


def concludes_for_own_side(text: RuleText) -> bool:
    """Return whether a brief's first or last two sentences conclude for its role's side; False for
    a role without a side."""
    if text.role not in OPTIONS_AGAINST:
        return False
    return not text.named_options.isdisjoint(_OWN_OPTIONS[text.role]) or _is_stated(
        text, _OWN_SIDE[text.role]
    )


def concludes_for_other_side(text: RuleText) -> bool:
    """Return whether a brief concludes for the other side; it may conclude for both sides or for
    neither."""
    if text.role not in OPTIONS_AGAINST:
        return False
    return not text.named_options.isdisjoint(OPTIONS_AGAINST[text.role]) or _is_stated(
        text, _OTHER_SIDE[text.role]
    )


def own_side_sentence(text: RuleText) -> str:
    """Return the last deciding sentence that states the side of a brief's role; "" without one."""
    side = _OWN_SIDE.get(text.role)
    found = [each for each in text.sentences if each in text.deciding_sentences] if side else []
    return next((each for each in reversed(found) if side and _states(each.lower(), side)), "")


def _states(sentence: str, side: _Statement) -> bool:
    """Return whether a sentence in lower case states a side."""
    return bool(side.phrases.search(sentence) and not side.unless.search(sentence))


def _is_stated(text: RuleText, side: _Statement) -> bool:
    lines = text.lowered_deciding_lines
    if not any(map(lines.__contains__, side.words)):
        return False
    return any(_states(sentence, side) for sentence in lines.split("\n"))


# What is asked about. A speech is a brief, a rebuttal or a verdict.
Unit = Literal["brief", "speech", "verdict", "row"]
YES_NO = ("yes", "no")


@dataclass(frozen=True, slots=True)
class Rule:
    """A question that a rule answers. Add one to `built_in.RULES`, or to the `RULES` of another
    file in this package.

    answer: returns one of `answers`, or "" if the text does not answer the question. unit: the kind
    of text.
    """

    name: str
    question: str
    answer: Callable[[RuleText], str]
    answers: tuple[str, ...] = YES_NO
    unit: Unit = "brief"


def yes_if(holds: bool) -> str:
    """Return the answer to a yes-or-no question."""
    return "yes" if holds else "no"


@cache
def rules() -> Mapping[str, Rule]:
    """Return the rules by name, sorted.

    This imports every file of the package, so a new file with `RULES` needs no listing.
    """
    found: dict[str, Rule] = {
        rule.name: rule for of_file in declared_in(room, "RULES") for rule in of_file
    }
    return MappingProxyType(dict(sorted(found.items())))


def rule_named(name: str) -> Rule:
    """Return the rule with this name. Raise NotFound, with the known names, if there is no such
    rule."""
    return find_named(rules(), "rule", name)
