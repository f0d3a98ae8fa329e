"""own_side: a brief that concludes for its own side."""

from __future__ import annotations

from core.audit.rules.conclusions import concludes_for_own_side
from core.audit.rules.registry import Rule, RuleText, yes_if


def answer(text: RuleText) -> str:
    """Yes where the first sentence or one of the last two does."""
    return yes_if(concludes_for_own_side(text))


RULE = Rule("own_side", "Does the brief conclude for the side it was given?", answer)
