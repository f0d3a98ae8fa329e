"""What a rule is: a question about a text that no model answers. And the rules of this folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

import core.methods.text_rules as room
from core.base.feature import declared_in, find_named
from core.methods.text_rules.text import RuleText

# What is asked about. A speech is a brief, a rebuttal or a verdict; a claim is an entry in a
# reading of claims and belongs to that reading.
Unit = Literal["brief", "speech", "verdict", "row", "claim"]
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
