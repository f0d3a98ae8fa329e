"""bare: a brief that is a bare letter or nearly."""

from __future__ import annotations

from core.audit.rule_text import BARE
from core.audit.rules.registry import Rule, RuleText, yes_if


def answer(text: RuleText) -> str:
    """Yes for BARE characters or fewer."""
    return yes_if(len(text.content) <= BARE)


RULE = Rule("bare", f"Is the brief a bare letter or nearly: {BARE} characters or fewer?", answer)
