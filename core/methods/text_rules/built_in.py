"""The rules that come with PerturbDesk, as one table. `RuleText` runs the searches that several
rules share only once."""

from __future__ import annotations

import re

from core.base.types import Flag
from core.methods.brief_checks import BARE, FEWEST_SENTENCES, SHORT
from core.methods.text_rules.text import (
    Rule,
    RuleText,
    concludes_for_other_side,
    concludes_for_own_side,
    yes_if,
)

NUMBERS = ("none", "one", "two", "three", "four or more")


def _number_arguing(text: RuleText) -> str:
    """Return the number of roles with a brief that is not `short`; "" for a row without briefs."""
    if not text.briefs:
        return ""
    arguing = {role for role, findings in text.briefs if "short" not in findings}
    return NUMBERS[min(len(arguing), len(NUMBERS) - 1)]


def _cites(text: RuleText) -> str:
    """Return yes if the text contains a term of the dossier, ignoring case.

    For a stored text without its dossier, return the finding saved with the text; "" if the run has
    no dossier.
    """
    if text.citable is None:
        return yes_if("cites" in text.findings) if text.has_dossier else ""
    lowered = text.content.lower() if text.citable else ""
    return yes_if(any(term in lowered for term in text.citable))


def _names_genes(text: RuleText) -> str:
    """Return yes if the text contains both symbols of the pair's id as words, ignoring case. A
    symbol may contain underscores."""
    parts = text.pair_id.split("_")
    splits = [("_".join(parts[:at]), "_".join(parts[at:])) for at in range(1, len(parts))]
    return yes_if(any(all(_names(text.plain, symbol) for symbol in symbols) for symbols in splits))


def _names(text: str, symbol: str) -> bool:
    """Return whether a text contains a symbol as a word, ignoring case."""
    if not (symbol and symbol.isascii() and text.isascii()):
        return re.search(rf"(?<!\w){re.escape(symbol)}(?!\w)", text, re.IGNORECASE) is not None
    # Avoids compiling a pattern for each symbol, which would take longer than several other rules
    # together.
    text, symbol = text.lower(), symbol.lower()
    at = text.find(symbol)
    while at >= 0:
        end = at + len(symbol)
        if not (_is_word(text[at - 1 : at]) or _is_word(text[end : end + 1])):
            return True
        at = text.find(symbol, at + 1)
    return False


def _is_word(character: str) -> bool:
    """Return whether a character is a letter, a digit or an underscore; False for "", the edge of a
    text."""
    return character.isalnum() or character == "_"


RULES = (
    Rule(
        "advocates_arguing",
        f"How many advocates of the row wrote {SHORT} characters or more?",
        _number_arguing,
        answers=NUMBERS,
        unit="row",
    ),
    # The options that contradict a side: EFFECT C; NULL A or B; UP B or C; DOWN A or C.
    Rule(
        "against",
        "Does the brief open with A), B) or C), an option that contradicts the side it was given?",
        lambda text: yes_if(text.is_against_own_side(text.opening_option)),
    ),
    # The option may follow "answer"; it is alone or before a bracket, a full stop or a colon.
    Rule(
        "answers",
        "Does the brief open with an answer to the multiple-choice question: A, B or C?",
        lambda text: yes_if(text.answer != ""),
    ),
    Rule(
        "answers_against",
        "Does the brief open with an answer that contradicts the side it was given?",
        lambda text: yes_if(text.is_against_own_side(text.answer)),
    ),
    Rule(
        "argues",
        f"Has the brief {SHORT} characters or more, and does it open with no answer to the"
        " multiple-choice question?",
        lambda text: yes_if(len(text.content) >= SHORT and text.answer == ""),
    ),
    Rule(
        "bare",
        f"Is the brief a bare letter or nearly: {BARE} characters or fewer?",
        lambda text: yes_if(len(text.content) <= BARE),
    ),
    Rule("cites", "Does the brief name something that stands in its row's dossier?", _cites),
    Rule(
        "de_fallback",
        "Could the judge's P(DE) not be read, so that a constant replaces it?",
        lambda text: yes_if(Flag.DE_FALLBACK in text.flags),
        unit="row",
    ),
    Rule(
        "dir_fallback",
        "Could the judge's P(up | DE) not be read, so that a constant replaces it?",
        lambda text: yes_if(Flag.DIR_FALLBACK in text.flags),
        unit="row",
    ),
    Rule("genes", "Does the brief name the perturbation and the target gene?", _names_genes),
    # A bracket must follow the letter: a narrower pattern than that of `answers`.
    Rule(
        "option",
        "Does the brief open with A), B) or C)?",
        lambda text: yes_if(text.opening_option != ""),
    ),
    # Looks at the first sentence and the last two; a brief may conclude for both sides or for
    # neither.
    Rule(
        "other_side",
        "Does the brief conclude for the side it was not given?",
        lambda text: yes_if(concludes_for_other_side(text)),
    ),
    Rule(
        "own_side",
        "Does the brief conclude for the side it was given?",
        lambda text: yes_if(concludes_for_own_side(text)),
    ),
    Rule(
        "role_collapse",
        "Did a role of this row not argue for the side it was given?",
        lambda text: yes_if(Flag.ROLE_COLLAPSE in text.flags),
        unit="row",
    ),
    # Lines count as sentences, bare numbers and letters do not.
    Rule(
        "sentences",
        f"Has the brief {FEWEST_SENTENCES} sentences or more?",
        lambda text: yes_if(len(text.sentences) >= FEWEST_SENTENCES),
    ),
    Rule(
        "short",
        f"Is the brief shorter than {SHORT} characters?",
        lambda text: yes_if(len(text.content) < SHORT),
    ),
)
