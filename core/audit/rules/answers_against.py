"""answers_against: a brief that answers the question with an option that contradicts the side it was given."""

from __future__ import annotations

from core.audit.rules.registry import Rule, RuleText, yes_if


def answer(text: RuleText) -> str:
    """Yes for such an answer: EFFECT C; NULL A or B; UP B or C; DOWN A or C."""
    return yes_if(text.is_against_own_side(text.answer))


RULE = Rule("answers_against", "Does the brief open with an answer that contradicts the side it was given?", answer)
