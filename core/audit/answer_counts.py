"""How often each answer to a rubric was given, by role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.audit.rubric import Rubric

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"  # every role together
_ROLES = ("EFFECT", "NULL", "UP", "DOWN", "JUDGE")


def count_answers(rubric: Rubric, readings: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Role → n, yes, rate, answers, unanswered; the roles in the order of a debate, then all of them as ALL.

    readings: role and answer, one row per text; the role of a whole row is "", which is not listed. n: answered texts. yes: those
    with the rubric's first answer, and rate their share (NaN without any text). answers: answer → how many texts. unanswered:
    texts whose answer could not be read, or on which the rule has none.
    """
    roles = sorted(set(readings["role"]) - {""}, key=lambda role: (_ROLES.index(role) if role in _ROLES else len(_ROLES), role))
    chosen = {role: readings.loc[readings["role"] == role, "answer"] for role in roles} | {ALL: readings["answer"]}
    return {role: _count(rubric, answers) for role, answers in chosen.items()}


def _count(rubric: Rubric, answers: pd.Series[str]) -> dict[str, Any]:
    counts = {answer: int((answers == answer).sum()) for answer in rubric.answers}
    n, yes = sum(counts.values()), counts[rubric.answers[0]]
    return {"n": n, "yes": yes, "rate": yes / n if n else float("nan"), "answers": counts, "unanswered": len(answers) - n}
