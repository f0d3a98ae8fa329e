"""Answer a rubric by its rule or its pattern."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from core.base.errors import InputError
from core.features.arguments.rubric import Rubric, search_pattern
from core.methods.text_rules.text import RuleText, rule_named, rules, yes_if

if TYPE_CHECKING:
    import pandas as pd

# columns of texts, as rules read them
_PLAIN = ("content", "role", "stage", "pair_id", "pert", "gene", "has_dossier")


def built_in_rubrics() -> list[Rubric]:
    """Return the rubrics of all rules, by name."""
    return [
        Rubric(rule.name, rule.question, rule.answers, unit=rule.unit, rule=rule.name)
        for rule in rules().values()
    ]


def answer_by_rule(rubric: Rubric, texts: pd.DataFrame, begun: float | None = None) -> pd.DataFrame:
    """Answer a rubric by its rule or pattern: pair_id, seq, role, stage, answer, p, one row per
    text, in order.

    texts: from `core.features.arguments.rubric_tables.texts`. answer is "" if the rule has none; p
    is NaN. begun: as in `core.features.arguments.rubric.search_pattern`. Raise InputError
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
