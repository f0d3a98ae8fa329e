"""Checks of whether a brief is an argument for its side: for the briefs of every run, imported or made here.

A debate makes the same checks before it accepts a brief. The phrases of conclusions prefer to miss a brief than to accuse it
wrongly. Of the published briefs that they find concluding for the other side, 100 were read one by one (all that do not open
with an option's letter, and a sample of the others): all 100 do. 96 of them are of UP or DOWN, 4 of EFFECT and none of NULL, so
less is known of those two. Of those that they find concluding for their own side, the deciding sentences of 157 were read (a
sample, 106 of which do not open with an answer; 16 are of UP): all 157 do. How many the phrases miss is not known.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from core.types import Flag, RowResult

SHORT = 120  # characters; a briefer one is one line of a chat window
BARE = 12  # characters; too few for a sentence
FEWEST_SENTENCES = 3
_MIN_CITED_LENGTH = 4  # characters; shorter terms occur by chance

FINDINGS: Mapping[str, str] = MappingProxyType(
    {
        "answers": "answers A, B or C",
        "answers_against": "contradicts its own side",
        "bare": f"a bare letter or nearly: {BARE} characters or fewer",
        "short": f"under {SHORT} characters",
        "option": "opens with A), B) or C)",
        "against": "opens with A), B) or C) against its own side",
        "argues": f"{SHORT} characters or more, and no answer to the question",
        "sentences": f"{FEWEST_SENTENCES} sentences or more",
        "genes": "names both genes",
        "own_side": "concludes for its own side",
        "other_side": "concludes for the other side",
        "cites": "names something that stands in its dossier",
    }
)
FAULTS: Mapping[str, str] = MappingProxyType(  # findings that a debate demands or refuses, and what it says of a brief then
    {
        "sentences": f"it has fewer than {FEWEST_SENTENCES} sentences",
        "genes": "it does not name both genes",
        "answers": "it opens with the letter of an option",
        "other_side": "it concludes for the other side",
    }
)
_DEMANDED = ("sentences", "genes")

# The published question's options are A up, B down, C none; these contradict the side that a role argues for.
OPTIONS_AGAINST = {"EFFECT": "C", "NULL": "AB", "UP": "BC", "DOWN": "AC"}
_OPENING_OPTION = re.compile(r"\W*([ABC])\)")
_ANSWER = re.compile(
    r"\W*(?:(?:the )?(?:final |correct )?answer(?: is)?\W*)?([ABC])(?:\)|\.(?=\s|$)|:|\W*$)",
    re.IGNORECASE,
)
_OPTION_WORDS = ("answer", "option", "choice")
_NAMED_OPTION = re.compile(rf"\b(?i:{'|'.join(_OPTION_WORDS)})\W{{0,4}}([ABC])\b")
# White space behind a full stop, before what can open a sentence; or lines' ends. It begins with what the search can skip to.
_END = re.compile(r"\s(?:(?:(?<=[.!?]\s)|(?<=[.!?][\"')\]]\s))\s*(?=[\"'(\[]?[A-Z0-9])|(?<=\n)\n*)")
_WORD = re.compile(r"[^\W\d_]{2,}")
_PLAIN = {"‐": "-", "‑": "-", "–": "-", "—": "-", "’": "'", "\u202f": " ", "\u00a0": " ", "*": ""}

_TOUCH = r"(?:affect|alter|change|influence|impact|modulate|perturb|shift|move|regulate|respond|have|produce|cause|lead|result)"
_RISES = r"\b(?:up-?regulat\w+|increas\w+|rises?|elevat\w+|induc(?:es|ed|tion)|go(?:es)? up|higher|raises?|derepress\w+)\b"
_FALLS = r"\b(?:down-?regulat\w+|decreas\w+|falls?|reduc(?:es|ed|e|tion)|lower\w*|diminish\w*|go(?:es)? down|drops?)\b"
_RESULT = (
    r"\b(?:results? in|leads? to|causes?|produces?|(?:is|are) (?:expected|predicted|likely) to|will|should)(?: [a-z]+){0,3}? "
)
# Sentences with these words weigh or report the other side and do not conclude for it.
_WEIGHS = (
    r"although|though|while|whereas|despite|rather than|instead|even if|rule out|cannot|absence|opponent|opposing|however|but"
    r"|yet|than|exceeds?|acknowledge|uncertain\w*|caveat|could|may|might|possib\w+|if"
)
_DENIES = r"no|not|none|unlikely|little|lacks?|without|rarely|neither|nor|never|null|low|against|likelihood|would|implausible"
_CLAIMS = {
    "unchanged": r"\bno (?:[a-z]+ ){0,3}?(?:change|effect|impact|alteration|difference|response|influence)s?\b"
    rf"|\b(?:not|unlikely to) (?:[a-z]+ly )?(?:be )?{_TOUCH}"
    r"|\b(?:unchanged|unaffected|unaltered)\b",
    "changed": rf"{_RESULT}(?:{_TOUCH}|{_RISES}|{_FALLS})",
    "up": rf"{_RESULT}(?:{_RISES})|\b(?:is|be|are) (?:[a-z]+ly )?(?:up-?regulated|increased|elevated|induced)\b",
    "down": rf"{_RESULT}(?:{_FALLS})|\b(?:is|be|are) (?:[a-z]+ly )?(?:down-?regulated|decreased|reduced|lowered)\b",
}
# Phrases that state something, and words that make it no conclusion; both of a sentence in lower case.
_Statement = tuple[re.Pattern[str], re.Pattern[str]]


def _statement(claims: Sequence[str], unless: str) -> _Statement:
    stated = "|".join(_CLAIMS[claim] for claim in claims)
    return re.compile(stated), re.compile(unless)


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


def check_brief(role: str, text: str, pair_id: str, citable: Collection[str] = ()) -> tuple[str, ...]:
    """The findings in one brief: keys of FINDINGS, in that order.

    option, against: A, B or C and a closing bracket follow the first non-word characters. answers, answers_against: as much,
    or a letter alone, or "answer" and a letter. own_side, other_side: by a brief's first sentence and its last two; a brief
    may conclude for both or for neither, and a role without a side for none. citable: lower-case terms of the row's dossier.
    """
    option, answer = _OPENING_OPTION.match(text), _ANSWER.match(text)
    contrary = OPTIONS_AGAINST.get(role, "")
    plain = _plain(text)
    every = sentences(plain)
    lowered = text.lower() if citable else ""
    holds = {
        "answers": answer is not None,
        "answers_against": answer is not None and answer[1].upper() in contrary,
        "bare": len(text) <= BARE,
        "short": len(text) < SHORT,
        "option": option is not None,
        "against": option is not None and option[1] in contrary,
        "argues": len(text) >= SHORT and answer is None,
        "sentences": len(every) >= FEWEST_SENTENCES,
        "genes": _names_both(plain, pair_id),
        "own_side": role in OPTIONS_AGAINST and _concludes(every, _OWN_SIDE[role], set("ABC") - set(contrary)),
        "other_side": role in OPTIONS_AGAINST and _concludes(every, _OTHER_SIDE[role], set(contrary)),
        "cites": any(term in lowered for term in citable),
    }
    return tuple(finding for finding in FINDINGS if holds[finding])


def _plain(text: str) -> str:
    """A text with plain dashes, apostrophes and blanks, and without asterisks; str.translate takes ten times as long."""
    for letter, replacement in _PLAIN.items():
        text = text.replace(letter, replacement)
    return text


def find_faults(role: str, text: str, pert: str, gene: str) -> tuple[str, ...]:
    """What makes a debate refuse a text as a brief: keys of FAULTS, () if nothing does."""
    found = check_brief(role, text, f"{pert}_{gene}")
    return tuple(finding for finding in FAULTS if (finding in found) != (finding in _DEMANDED))


def sentences(text: str) -> list[str]:
    """The sentences of a text; lines count as sentences, bare numbers and letters do not."""
    return [part for part in _END.split(text.strip()) if (part[:2].isalpha() and len(part) > 1) or _WORD.search(part)]


def _concludes(every: Sequence[str], side: _Statement, options: Collection[str]) -> bool:
    """Whether a side's statement or option stands in the first sentence or in one of the last two."""
    stated, unless = side
    for sentence in {*every[:1], *every[-2:]}:
        lowered = sentence.lower()  # a search without regard to case takes twice as long
        option = _NAMED_OPTION.search(sentence) if any(word in lowered for word in _OPTION_WORDS) else None
        if option and option[1] in options:
            return True
        if stated.search(lowered) and not unless.search(lowered):
            return True
    return False


def _names_both(text: str, pair_id: str) -> bool:
    """Whether a text names the perturbation and the gene of a pair; a symbol may itself hold the underscore between them."""
    parts = pair_id.split("_")
    splits = [("_".join(parts[:at]), "_".join(parts[at:])) for at in range(1, len(parts))]
    return any(all(_names_symbol(text, symbol) for symbol in symbols) for symbols in splits)


def _names_symbol(text: str, symbol: str) -> bool:
    """Whether a text names a symbol as a word of its own, whatever its case."""
    if not (text.isascii() and symbol.isascii()):  # letters beyond ASCII may have several forms of the other case
        return re.search(rf"(?<!\w){re.escape(symbol)}(?!\w)", text, re.IGNORECASE) is not None
    lowered, wanted = text.lower(), symbol.lower()
    at = lowered.find(wanted)
    while at >= 0 and (_is_word(lowered[at - 1 : at]) or _is_word(lowered[at + len(wanted) : at + len(wanted) + 1])):
        at = lowered.find(wanted, at + 1)
    return at >= 0


def _is_word(letter: str) -> bool:
    """Whether a letter, or "" at the end of a text, is part of a word, as \\w says it."""
    return letter.isalnum() or letter == "_"


def check_rows(rows: Sequence[RowResult]) -> tuple[list[tuple[str, ...]], list[bool]]:
    """The findings of every event of every row, in order, and for each row whether a role collapsed (see `is_collapsed`)."""
    known: dict[int, frozenset[str]] = {}  # by object: rows share the answers they saw
    by_event: list[tuple[str, ...]] = []
    collapsed: list[bool] = []
    for row in rows:
        for item in row.evidence:
            if id(item) not in known:
                known[id(item)] = citable_terms(item.body)
        pair_id = row.prediction.pair_id
        citable = citable_by(pair_id, [known[id(item)] for item in row.evidence])
        of_row = [check_brief(e.role, e.content, pair_id, citable) if e.kind == "brief" else () for e in row.events]
        by_event.extend(of_row)
        collapsed.append(any(map(is_collapsed, of_row)))
    return by_event, collapsed


def is_collapsed(findings: Collection[str]) -> bool:
    """Whether a brief with these findings is no argument for its side: it answers the multiple-choice question."""
    return "answers" in findings


def flags_with_collapse(rows: Sequence[RowResult], collapsed: Sequence[bool]) -> list[list[Flag]]:
    """Returns each row's flags, none of them twice, with role_collapse where a role collapsed. collapsed: as of `check_rows`."""
    added = [(Flag.ROLE_COLLAPSE,) if collapse else () for collapse in collapsed]
    return [list(dict.fromkeys((*row.prediction.flags, *more))) for row, more in zip(rows, added, strict=True)]


def citable_by(pair_id: str, dossier: Iterable[frozenset[str]]) -> set[str]:
    """The terms that a row's briefs can cite: all but its own genes. dossier: the `citable_terms` of each answer of a tool."""
    own = {pair_id.lower(), *pair_id.lower().split("_")}
    return set().union(*dossier) - own


def citable_terms(body: Mapping[str, Any]) -> frozenset[str]:
    """The strings of a tool's answer that a brief could cite, in lower case."""
    return frozenset(term for term in _strings(body) if len(term) >= _MIN_CITED_LENGTH)


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value.lower()
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _strings(inner)
