"""The findings in briefs, as migration 6 makes them: a copy of the audit's rules on the day when it was released."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

COLLAPSE = "role_collapse"
_SHORT, _BARE, _FEWEST_SENTENCES, _LEAST_CITED = 120, 12, 3, 4
_AGAINST = {"EFFECT": "C", "NULL": "AB", "UP": "BC", "DOWN": "AC"}
_OWN = {"EFFECT": "AB", "NULL": "C", "UP": "A", "DOWN": "B"}
_OPENING_OPTION = re.compile(r"\W*([ABC])\)")
_ANSWER = re.compile(
    r"\W*(?:(?:the )?(?:final |correct )?answer(?: is)?\W*)?([ABC])(?:\)|\.(?=\s|$)|:|\W*$)",
    re.IGNORECASE,
)
_END = re.compile(r"[.!?\n](?:(?<=\n)\n*|[\"')\]]?(\s+)(?=[\"'(\[]?[A-Z0-9]))")
_WORD = re.compile(r"[^\W\d_]{2,}")
_NAMED_OPTION = re.compile(r"\b(?i:answer|option|choice)\W{0,4}([ABC])\b")
_PLAIN = {"‐": "-", "‑": "-", "–": "-", "—": "-", "’": "'", "\u202f": " ", "\u00a0": " ", "*": ""}

_TOUCH = r"(?:affect|alter|change|influence|impact|modulate|perturb|shift|move|regulate|respond|have|produce|cause|lead|result)"
_RISES = r"\b(?:up-?regulat\w+|increas\w+|rises?|elevat\w+|induc(?:es|ed|tion)|go(?:es)? up|higher|raises?|derepress\w+)\b"
_FALLS = r"\b(?:down-?regulat\w+|decreas\w+|falls?|reduc(?:es|ed|e|tion)|lower\w*|diminish\w*|go(?:es)? down|drops?)\b"
_RESULT = (
    r"\b(?:results? in|leads? to|causes?|produces?|(?:is|are) (?:expected|predicted|likely) to|will|should)(?: [a-z]+){0,3}? "
)
_WEIGHS = (
    r"although|though|while|whereas|despite|rather than|instead|even if|rule out|cannot|absence|opponent|opposing|however|but"
    r"|yet|than|exceeds?|acknowledge|uncertain\w*|caveat|could|may|might|possib\w+|if"
)
_DENIES = r"no|not|none|unlikely|little|lacks?|without|rarely|neither|nor|never|null|low|against|likelihood|would|implausible"
_UNCHANGED = (
    r"\bno (?:[a-z]+ ){0,3}?(?:change|effect|impact|alteration|difference|response|influence)s?\b"
    rf"|\b(?:not|unlikely to) (?:[a-z]+ly )?(?:be )?{_TOUCH}"
    r"|\b(?:unchanged|unaffected|unaltered)\b"
)
_CHANGED = rf"{_RESULT}(?:{_TOUCH}|{_RISES}|{_FALLS})"
_UP = rf"{_RESULT}(?:{_RISES})|\b(?:is|be|are) (?:[a-z]+ly )?(?:up-?regulated|increased|elevated|induced)\b"
_DOWN = rf"{_RESULT}(?:{_FALLS})|\b(?:is|be|are) (?:[a-z]+ly )?(?:down-?regulated|decreased|reduced|lowered)\b"
_OTHER_SIDE = {
    "EFFECT": (_UNCHANGED, rf"\b(?:{_WEIGHS}|leave)\b|{_RISES}|{_FALLS}"),
    "NULL": (_CHANGED, rf"\b(?:{_WEIGHS}|{_DENIES}|diminish\w*)\b"),
    "UP": (f"{_UNCHANGED}|{_DOWN}", rf"\b(?:{_WEIGHS})\b|{_RISES}"),
    "DOWN": (f"{_UNCHANGED}|{_UP}", rf"\b(?:{_WEIGHS})\b|{_FALLS}"),
}
_OWN_SIDE = {
    "EFFECT": (_CHANGED, rf"\b(?:{_WEIGHS}|{_DENIES})\b"),
    "NULL": (_UNCHANGED, rf"\b(?:{_WEIGHS})\b|{_RISES}|{_FALLS}"),
    "UP": (_UP, rf"\b(?:{_WEIGHS}|{_DENIES})\b|{_FALLS}"),
    "DOWN": (_DOWN, rf"\b(?:{_WEIGHS}|{_DENIES})\b|{_RISES}"),
}


def update(cursor: Any, run: str) -> None:
    """Set the findings of a run's briefs, the flag of the rows in which a role collapsed, and the number of these rows."""
    briefs = cursor.execute(
        "SELECT pair_id, seq, role, content FROM trace_event WHERE run = ? AND kind = 'brief' ORDER BY pair_id, seq", [run]
    ).fetchall()
    dossiers = dict(_dossiers(cursor, run))
    pairs, places = [pair for pair, *_ in briefs], [seq for _, seq, *_ in briefs]
    found = [check(role, text, pair, dossiers.get(pair, ())) for pair, _, role, text in briefs]
    cursor.execute(
        """UPDATE trace_event e SET findings = f.findings FROM (
             SELECT unnest(?::VARCHAR[]) AS pair_id, unnest(?::SMALLINT[]) AS seq, unnest(?::VARCHAR[][]) AS findings) f
           WHERE e.run = ? AND e.pair_id = f.pair_id AND e.seq = f.seq""",
        [pairs, places, found, run],
    )
    collapsed = sorted({pair for pair, findings in zip(pairs, found, strict=True) if "answers" in findings})
    cursor.execute(
        """UPDATE prediction SET flags = list_append(flags, ?) WHERE run = ? AND NOT list_contains(flags, ?)
           AND list_contains(?::VARCHAR[], pair_id)""",
        [COLLAPSE, run, COLLAPSE, collapsed],
    )
    cursor.execute(
        "UPDATE run SET collapsed = (SELECT count(*) FROM prediction WHERE run = ? AND list_contains(flags, ?)) WHERE id = ?",
        [run, COLLAPSE, run],
    )


def _dossiers(cursor: Any, run: str) -> Iterator[tuple[str, set[str]]]:
    """Yield each pair id with the terms of its dossier that a brief can cite."""
    bodies = cursor.execute(
        "SELECT id, body FROM evidence WHERE id IN (SELECT evidence FROM row_evidence WHERE run = ?)", [run]
    ).fetchall()
    terms = {key: {term for term in _strings(json.loads(body)) if len(term) >= _LEAST_CITED} for key, body in bodies}
    rows = cursor.execute("SELECT pair_id, list(evidence) FROM row_evidence WHERE run = ? GROUP BY pair_id", [run]).fetchall()
    for pair_id, keys in rows:
        own = {pair_id.lower(), *pair_id.lower().split("_")}
        yield pair_id, set().union(*(terms[key] for key in keys)) - own


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value.lower()
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def check(role: str, text: str, pair_id: str, citable: Collection[str]) -> list[str]:
    """Return the findings in one brief, in their order."""
    plain = text
    for written, replaced in _PLAIN.items():
        plain = plain.replace(written, replaced)
    sentences = _sentences(plain)
    deciding = {*sentences[:1], *sentences[-2:]}
    answer, option = _ANSWER.match(text), _OPENING_OPTION.match(text)
    letter, opening = answer[1].upper() if answer else "", option[1] if option else ""
    against = _AGAINST.get(role, "")
    found = {
        "answers": letter != "",
        "answers_against": letter != "" and letter in against,
        "bare": len(text) <= _BARE,
        "short": len(text) < _SHORT,
        "option": opening != "",
        "against": opening != "" and opening in against,
        "argues": len(text) >= _SHORT and letter == "",
        "sentences": len(sentences) >= _FEWEST_SENTENCES,
        "genes": _names_both(plain, pair_id),
        "own_side": role in _OWN and _concludes(deciding, _OWN[role], *_OWN_SIDE[role]),
        "other_side": role in _OWN and _concludes(deciding, against, *_OTHER_SIDE[role]),
        "cites": any(term in text.lower() for term in citable),
    }
    return [name for name, holds in found.items() if holds]


def _sentences(text: str) -> list[str]:
    text, parts, start = text.strip(), [], 0
    for end in _END.finditer(text):
        parts.append(text[start : max(end.start(), end.start(1))])
        start = end.end()
    parts.append(text[start:])
    return [part for part in parts if (part[:2].isalpha() and len(part) > 1) or _WORD.search(part)]


def _names_both(text: str, pair_id: str) -> bool:
    parts = pair_id.split("_")
    splits = [("_".join(parts[:at]), "_".join(parts[at:])) for at in range(1, len(parts))]
    return any(all(_names(text, symbol) for symbol in symbols) for symbols in splits)


def _names(text: str, symbol: str) -> bool:
    if not (symbol and symbol.isascii() and text.isascii()):
        return re.search(rf"(?<!\w){re.escape(symbol)}(?!\w)", text, re.IGNORECASE) is not None
    text, symbol = text.lower(), symbol.lower()
    at = text.find(symbol)
    while at >= 0:
        end = at + len(symbol)
        if not (_is_word(text[at - 1 : at]) or _is_word(text[end : end + 1])):
            return True
        at = text.find(symbol, at + 1)
    return False


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _concludes(deciding: Iterable[str], options: str, phrases: str, unless: str) -> bool:
    """Return whether a sentence names one of the options or holds one of the phrases and nothing of `unless`."""
    named = {found[1] for found in map(_NAMED_OPTION.search, deciding) if found}
    if not named.isdisjoint(options):
        return True
    lines = "\n".join(deciding).lower().split("\n")
    return any(re.search(phrases, line) and not re.search(unless, line) for line in lines)
