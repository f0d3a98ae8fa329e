"""role_collapse: a row in which a role did not argue for its side."""

from __future__ import annotations

from core.audit.rules.registry import Rule, RuleText, yes_if
from core.types import Flag


def answer(text: RuleText) -> str:
    """Yes for a row with the flag of that name."""
    return yes_if(Flag.ROLE_COLLAPSE in text.flags)


RULE = Rule("role_collapse", "Did a role of this row not argue for the side it was given?", answer, unit="row")
