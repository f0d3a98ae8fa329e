"""de_fallback: a row whose verdict on the effect could not be read."""

from __future__ import annotations

from core.audit.rules.registry import Rule, RuleText, yes_if
from core.types import Flag


def answer(text: RuleText) -> str:
    """Yes for a row with the flag of that name."""
    return yes_if(Flag.DE_FALLBACK in text.flags)


RULE = Rule("de_fallback", "Could the judge's P(DE) not be read, so that a constant replaces it?", answer, unit="row")
