"""right_claim: a claim that a model read in a brief. The reader says yes to each that it lists; people say which are right."""

from __future__ import annotations

from core.audit.rules.registry import Rule, RuleText


def answer(_: RuleText) -> str:
    """Yes: what is not a claim to the reader is not listed."""
    return "yes"


RULE = Rule("right_claim", "Does the quoted sentence make this claim about the two genes?", answer, unit="claim")
RULES = (RULE,)
