"""other_side: a brief that concludes for the other side."""

from __future__ import annotations

from core.audit.rules.conclusions import concludes_for_other_side
from core.audit.rules.registry import Rule, RuleText, yes_if


def answer(text: RuleText) -> str:
    """Yes where the first sentence or one of the last two does; a brief may conclude for both sides or for neither."""
    return yes_if(concludes_for_other_side(text))


RULE = Rule("other_side", "Does the brief conclude for the side it was not given?", answer)
