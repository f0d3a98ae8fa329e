"""short: a brief of one line."""

from __future__ import annotations

from core.audit.rule_text import SHORT
from core.audit.rules.registry import Rule, RuleText, yes_if


def answer(text: RuleText) -> str:
    """Yes for fewer than SHORT characters."""
    return yes_if(len(text.content) < SHORT)


RULE = Rule("short", f"Is the brief shorter than {SHORT} characters?", answer)
