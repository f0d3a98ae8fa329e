"""argues: a brief that is long enough for an argument and answers no question."""

from __future__ import annotations

from core.audit.rule_text import SHORT
from core.audit.rules.registry import Rule, RuleText, yes_if


def answer(text: RuleText) -> str:
    """Yes for SHORT characters or more that open with no answer."""
    return yes_if(len(text.content) >= SHORT and text.answer == "")


RULE = Rule(
    "argues",
    f"Has the brief {SHORT} characters or more, and does it open with no answer to the multiple-choice question?",
    answer,
)
