"""against: a brief that opens with an option's letter and a bracket and so contradicts the side it was given."""

from __future__ import annotations

from core.audit.rules.registry import Rule, RuleText, yes_if


def answer(text: RuleText) -> str:
    """Yes for such an option: EFFECT C; NULL A or B; UP B or C; DOWN A or C."""
    return yes_if(text.is_against_own_side(text.opening_option))


RULE = Rule("against", "Does the brief open with A), B) or C), an option that contradicts the side it was given?", answer)
