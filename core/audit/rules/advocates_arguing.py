"""advocates_arguing: in how many rows anybody argued, by how many of a row's advocates wrote more than a line."""

from __future__ import annotations

from core.audit.rule_text import SHORT
from core.audit.rules.registry import Rule, RuleText

NUMBERS = ("none", "one", "two", "three", "four or more")


def answer(text: RuleText) -> str:
    """How many roles have a brief that is not `short`; "" for a row without briefs."""
    if not text.briefs:
        return ""
    arguing = {role for role, findings in text.briefs if "short" not in findings}
    return NUMBERS[min(len(arguing), len(NUMBERS) - 1)]


RULE = Rule(
    "advocates_arguing", f"How many advocates of the row wrote {SHORT} characters or more?", answer, answers=NUMBERS, unit="row"
)
