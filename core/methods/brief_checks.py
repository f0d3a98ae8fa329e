"""Check whether a brief argues for its side, in every run, imported or made here.

Each check is a rule of `core.methods.text_rules`; its answer is saved with the brief. A
debate runs the same checks before it accepts a brief.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from core.base.types import Flag, RowResult

if TYPE_CHECKING:
    from core.methods.text_rules.text import RuleText

SHORT = 120  # in characters; a shorter text is one line of a chat window
BARE = 12  # in characters; too few for a sentence
FEWEST_SENTENCES = 3

ALL = "all"  # every role together
_MIN_CITED_LENGTH = 4  # in characters; shorter terms occur by chance

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
# findings that a debate demands or refuses → the reason given to the advocate
FAULTS: Mapping[str, str] = MappingProxyType(
    {
        "sentences": f"it has fewer than {FEWEST_SENTENCES} sentences",
        "genes": "it does not name both genes",
        "answers": "it opens with the letter of an option",
        "other_side": "it concludes for the other side",
    }
)
_DEMANDED = ("sentences", "genes")


def check_brief(
    role: str, text: str, pair_id: str, citable: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the findings in one brief: the keys of FINDINGS whose rules answer yes, in that order.

    citable: lower-case terms of the row's dossier.
    """
    from core.methods.text_rules.text import RuleText

    brief = RuleText(text, role, pair_id=pair_id, citable=citable)
    return tuple([finding for finding, answer in _checks() if answer(brief) == "yes"])


@cache
def _checks() -> tuple[tuple[str, Callable[[RuleText], str]], ...]:
    """Return each key of FINDINGS with its rule."""
    from core.methods.text_rules.text import rule_named  # a page that counts briefs reads none

    return tuple((finding, rule_named(finding).answer) for finding in FINDINGS)


def find_faults(role: str, text: str, pert: str, gene: str) -> tuple[str, ...]:
    """Return the reasons for a debate to refuse a text as a brief: keys of FAULTS, () without
    one."""
    found = check_brief(role, text, f"{pert}_{gene}")
    return tuple(finding for finding in FAULTS if (finding in found) != (finding in _DEMANDED))


def check_rows(rows: Sequence[RowResult]) -> tuple[list[tuple[str, ...]], list[bool]]:
    """Return the findings of each event of each row, in order, and whether one of the row's roles
    collapsed: its brief answers the multiple-choice question instead of arguing for its side.
    """
    known: dict[int, frozenset[str]] = {}  # by identity: rows share the tool answers they saw
    by_event: list[tuple[str, ...]] = []
    collapsed = []
    for row in rows:
        for item in row.evidence:
            if id(item) not in known:
                known[id(item)] = citable_terms(item.body)
        pair_id = row.pair_id
        citable = citable_by(pair_id, [known[id(item)] for item in row.evidence])
        found = [
            check_brief(e.role, e.content, pair_id, citable) if e.kind == "brief" else ()
            for e in row.events
        ]
        by_event.extend(found)
        collapsed.append(any("answers" in findings for findings in found))
    return by_event, collapsed


def flags_with_collapse(rows: Sequence[RowResult], collapsed: Sequence[bool]) -> list[list[Flag]]:
    """Return each row's flags without duplicates, with role_collapse if a role collapsed.
    collapsed: from `check_rows`."""
    added = [(Flag.ROLE_COLLAPSE,) if collapse else () for collapse in collapsed]
    return [
        list(dict.fromkeys((*row.prediction.flags, *more)))
        for row, more in zip(rows, added, strict=True)
    ]


def citable_by(pair_id: str, dossier: Iterable[frozenset[str]]) -> set[str]:
    """Return the terms that a row's briefs can cite, without the row's own genes.

    dossier: the `citable_terms` of each tool answer.
    """
    own = {pair_id.lower(), *pair_id.lower().split("_")}
    return set().union(*dossier) - own


def citable_terms(body: Mapping[str, Any]) -> frozenset[str]:
    """Return the strings in a tool's answer that a brief could cite, in lower case."""
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
