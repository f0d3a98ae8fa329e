"""option: a brief that opens with an option's letter and a bracket; a narrower pattern than that of the rule `answers`."""

from __future__ import annotations

from core.audit.rules.registry import Rule, RuleText, yes_if


def answer(text: RuleText) -> str:
    """Yes where A, B or C and a closing bracket follow the first non-word characters."""
    return yes_if(text.opening_option != "")


RULE = Rule("option", "Does the brief open with A), B) or C)?", answer)
