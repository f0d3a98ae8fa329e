"""Checks of whether a brief is an argument, for every debate, imported or run here."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from core.types import Evidence, Flag, RowResult, TraceEvent

SHORT = 120  # characters; one line of a chat window
_OPENING_OPTION = re.compile(r"\W*([ABC])\)")
# The published question's options are A up, B down, C none; these contradict the side that a role argues for.
OPTIONS_AGAINST = {"EFFECT": "C", "NULL": "AB", "UP": "BC", "DOWN": "AC"}
_MIN_CITED_LENGTH = 4  # characters; shorter terms occur by chance

FINDINGS = {
    "short": f"shorter than {SHORT} characters",
    "option": "opens with a multiple-choice option instead of arguing",
    "against": "opens with an option against its own side",
    "cites": "names something that stands in its dossier",
}


def check_brief(role: str, text: str, citable: Collection[str] = ()) -> tuple[str, ...]:
    """The findings in one brief: keys of FINDINGS.

    A brief opens with an option if A, B or C and a closing bracket follow its first non-word characters. citable:
    lower-case terms of the row's dossier.
    """
    found = ["short"] if len(text) < SHORT else []
    option = _OPENING_OPTION.match(text)
    if option:
        found.append("option")
        if option[1] in OPTIONS_AGAINST.get(role, ""):
            found.append("against")
    if citable:
        lowered = text.lower()
        if any(term in lowered for term in citable):
            found.append("cites")
    return tuple(found)


def check_rows(rows: Sequence[RowResult]) -> tuple[list[tuple[str, ...]], list[bool]]:
    """The findings of every event of every row, in order, and for each row whether a role collapsed (a brief is an option)."""
    known: dict[int, frozenset[str]] = {}
    by_event: list[tuple[str, ...]] = []
    collapsed: list[bool] = []
    for row in rows:
        own = [row.prediction.pair_id.lower(), *row.prediction.pair_id.lower().split("_")]
        citable = set().union(*(_citable_terms(item, known) for item in row.evidence)) - set(own)
        row_findings = [_check_event(event, citable) for event in row.events]
        by_event.extend(row_findings)
        collapsed.append(any("option" in found for found in row_findings))
    return by_event, collapsed


def flags_with_collapse(rows: Sequence[RowResult], collapsed: Sequence[bool]) -> list[list[Flag]]:
    """Returns each row's flags, none of them twice, with role_collapse where a role collapsed. collapsed: as of `check_rows`."""
    added = [(Flag.ROLE_COLLAPSE,) if collapse else () for collapse in collapsed]
    return [list(dict.fromkeys((*row.prediction.flags, *more))) for row, more in zip(rows, added, strict=True)]


def _check_event(event: TraceEvent, citable: set[str]) -> tuple[str, ...]:
    return check_brief(event.role, event.content, citable) if event.kind == "brief" else ()


def _citable_terms(item: Evidence, known: dict[int, frozenset[str]]) -> frozenset[str]:
    """The strings of a tool's answer that a brief could cite; computed once for an answer that many rows share."""
    if id(item) not in known:
        known[id(item)] = frozenset(term for term in _strings(item.body) if len(term) >= _MIN_CITED_LENGTH)
    return known[id(item)]


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value.lower()
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _strings(inner)
