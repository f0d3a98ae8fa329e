"""dir_fallback: a row whose verdict on the direction could not be read."""

from __future__ import annotations

from core.audit.rules.registry import Rule, RuleText, yes_if
from core.types import Flag


def answer(text: RuleText) -> str:
    """Yes for a row with the flag of that name."""
    return yes_if(Flag.DIR_FALLBACK in text.flags)


RULE = Rule("dir_fallback", "Could the judge's P(up | DE) not be read, so that a constant replaces it?", answer, unit="row")
