"""Define a rule, list the rules of this package, and answer a rubric by a rule or a pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import core.features.arguments.rules as room
from core.base.declared import declared_in, find_named
from core.base.errors import InputError
from core.features.arguments.rubric import YES_NO, Rubric, Unit
from core.features.arguments.rules.pattern import search_pattern
from core.features.arguments.rules.text import RuleText as RuleText

if TYPE_CHECKING:
    import pandas as pd

# columns of texts, as rules read them
_PLAIN = ("content", "role", "stage", "pair_id", "pert", "gene", "has_dossier")


@dataclass(frozen=True, slots=True)
class Rule:
    """A question that a rule answers. Add one to `built_in.RULES`, or to the `RULES` of another
    file in this package.

    answer: returns one of `answers`, or "" if the text does not answer the question. answers, unit:
    as in `Rubric`.
    """

    name: str
    question: str
    answer: Callable[[RuleText], str]
    answers: tuple[str, ...] = YES_NO
    unit: Unit = "brief"

    @property
    def rubric(self) -> Rubric:
        """The rubric that this rule answers."""
        return Rubric(self.name, self.question, self.answers, unit=self.unit, rule=self.name)


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


def built_in_rubrics() -> list[Rubric]:
    """Return the rubrics of all rules, by name."""
    return [rule.rubric for rule in rules().values()]


def answer_by_rule(rubric: Rubric, texts: pd.DataFrame, begun: float | None = None) -> pd.DataFrame:
    """Answer a rubric by its rule or pattern: pair_id, seq, role, stage, answer, p, one row per
    text, in order.

    texts: from `core.features.arguments.rubric_tables.texts`. answer is "" if the rule has none; p
    is NaN. begun: as in `core.features.arguments.rules.pattern.search_pattern`. Raise InputError
    for a rubric without a rule and without a pattern, for a pattern that takes too long, and for an
    answer that the rubric does not list.
    """
    if not rubric.is_answered_by_rule:
        raise InputError(
            f"rubric {rubric.name}: has neither rule nor pattern, expected one; a model can"
            " answer it"
        )
    if rubric.rule:
        answer = rule_named(rubric.rule).answer
        answers = [answer(text) for text in _rule_texts(texts)]
    else:
        found = search_pattern(
            rubric.pattern, texts["content"].tolist(), f"rubric {rubric.name}", begun
        )
        answers = [yes_if(each) for each in found]
    unknown = set(answers) - {*rubric.answers, ""}
    if unknown:
        raise InputError(
            f"rubric {rubric.name}: its rule answers {min(unknown)!r}, expected"
            f" {', '.join(rubric.answers)}"
        )
    asked = texts[["pair_id", "seq", "role", "stage"]].reset_index(drop=True)
    return asked.assign(answer=answers, p=float("nan"))


def _rule_texts(texts: pd.DataFrame) -> Iterator[RuleText]:
    """Yield the rows of `core.features.arguments.rubric_tables.texts`."""
    for row in texts.to_dict("records"):
        briefs = tuple((each["role"], tuple(each["findings"])) for each in row["briefs"])
        plain: dict[str, Any] = {name: row[name] for name in _PLAIN}
        yield RuleText(
            **plain, findings=tuple(row["findings"]), flags=tuple(row["flags"]), briefs=briefs
        )
