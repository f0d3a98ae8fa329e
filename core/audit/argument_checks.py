"""Checks of whether a brief argues, and for its own side; a debate makes them before it accepts a brief.

The phrase list prefers to miss a brief than to accuse it wrongly. Of the published briefs that it finds, 100 were read one
by one (all that do not open with an option's letter, and a sample of the others): all 100 conclude for the other side. 96
of them are of UP or DOWN, 4 of EFFECT and none of NULL, so less is known of those two; how many it misses is not known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from core.audit.brief_checks import OPTIONS_AGAINST, check_brief

FEWEST_SENTENCES = 3

FAULTS: Mapping[str, str] = MappingProxyType(
    {
        "sentences": f"it has fewer than {FEWEST_SENTENCES} sentences",
        "genes": "it does not name both genes",
        "option": "it opens with the letter of an option",
        "conclusion": "it concludes for the other side",
    }
)

_END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"')\]]))\s+(?=[\"'(\[]?[A-Z0-9])|\n+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_PLAIN = str.maketrans({"‐": "-", "‑": "-", "–": "-", "—": "-", "’": "'", "\u202f": " ", "\u00a0": " ", "*": None})

_TOUCH = r"(?:affect|alter|change|influence|impact|modulate|perturb|shift|move|regulate|respond|have|produce|cause|lead|result)"
_RISES = r"\b(?:up-?regulat\w+|increas\w+|rises?|elevat\w+|induc(?:es|ed|tion)|go(?:es)? up|higher|raises?|derepress\w+)\b"
_FALLS = r"\b(?:down-?regulat\w+|decreas\w+|falls?|reduc(?:es|ed|e|tion)|lower\w*|diminish\w*|go(?:es)? down|drops?)\b"
_RESULT = (
    r"\b(?:results? in|leads? to|causes?|produces?|(?:is|are) (?:expected|predicted|likely) to|will|should)(?: [a-z]+){0,3}? "
)
_CLAIMS = {
    "unchanged": r"\bno (?:[a-z]+ ){0,3}?(?:change|effect|impact|alteration|difference|response|influence)s?\b"
    rf"|\b(?:not|unlikely to) (?:[a-z]+ly )?(?:be )?{_TOUCH}"
    r"|\b(?:unchanged|unaffected|unaltered)\b",
    "changed": rf"{_RESULT}(?:{_TOUCH}|{_RISES}|{_FALLS})",
    "up": rf"{_RESULT}(?:{_RISES})|\b(?:is|be|are) (?:[a-z]+ly )?(?:up-?regulated|increased|elevated|induced)\b",
    "down": rf"{_RESULT}(?:{_FALLS})|\b(?:is|be|are) (?:[a-z]+ly )?(?:down-?regulated|decreased|reduced|lowered)\b",
}
# Sentences with these words weigh or report the other side and do not conclude for it.
_WEIGHS = (
    r"although|though|while|whereas|despite|rather than|instead|even if|rule out|cannot|absence|opponent|opposing|however|but"
    r"|yet|than|exceeds?|acknowledge|uncertain\w*|caveat|could|may|might|possib\w+|if"
)
_DENIES = (
    r"no|not|none|unlikely|little|lacks?|without|rarely|neither|nor|never|null|low|diminish\w*|against|likelihood|would"
    r"|implausible"
)
_AGAINST = {  # role: the other side's statements, and words that make a sentence an argument for its own side
    "EFFECT": (("unchanged",), rf"\b(?:{_WEIGHS}|leave)\b|{_RISES}|{_FALLS}"),
    "NULL": (("changed",), rf"\b(?:{_WEIGHS}|{_DENIES})\b"),
    "UP": (("unchanged", "down"), rf"\b(?:{_WEIGHS})\b|{_RISES}"),
    "DOWN": (("unchanged", "up"), rf"\b(?:{_WEIGHS})\b|{_FALLS}"),
}
_PATTERNS = {
    role: (re.compile("|".join(_CLAIMS[claim] for claim in theirs), re.IGNORECASE), re.compile(own, re.IGNORECASE))
    for role, (theirs, own) in _AGAINST.items()
}
_NAMED_OPTION = re.compile(r"\b(?i:answer|option|choice)\W{0,4}([ABC])\b")


def find_faults(role: str, text: str, pert: str, gene: str) -> tuple[str, ...]:
    """The faults of a text as a brief: keys of FAULTS, () if it has none."""
    checks = {
        "sentences": len(sentences(text)) < FEWEST_SENTENCES,
        "genes": not all(_names_symbol(text, symbol) for symbol in (pert, gene)),
        "option": "option" in check_brief(role, text),
        "conclusion": concludes_against(role, text),
    }
    return tuple(name for name, holds in checks.items() if holds)


def concludes_against(role: str, text: str) -> bool:
    """Whether a brief's first sentence or one of its last two is a conclusion for the other side.

    Such a sentence names the other side's option, or has a phrase of the other side and no word that weighs, denies or
    compares. False for a role without a side.
    """
    if role not in _PATTERNS:
        return False
    theirs, own = _PATTERNS[role]
    every = sentences(text)
    for sentence in {*every[:1], *every[-2:]}:
        chosen = _NAMED_OPTION.search(sentence)
        if chosen and chosen[1] in OPTIONS_AGAINST[role]:
            return True
        if theirs.search(sentence) and not own.search(sentence):
            return True
    return False


def sentences(text: str) -> list[str]:
    """The sentences of a text, without emphasis; lines count as sentences, bare numbers and letters do not."""
    return [part for part in _END.split(text.translate(_PLAIN).strip()) if _WORD.search(part)]


def _names_symbol(text: str, symbol: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(symbol)}(?!\w)", text.translate(_PLAIN), re.IGNORECASE) is not None
