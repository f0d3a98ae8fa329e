"""right_claim: a claim that a model found in a brief. The model answers yes for each; people say which claims are right."""

from __future__ import annotations

from core.audit.rules.registry import Rule, RuleText


def answer(_: RuleText) -> str:
    """Return yes: the model lists only texts that it takes for claims."""
    return "yes"


RULE = Rule("right_claim", "Does the quoted sentence make this claim about the two genes?", answer, unit="claim")
RULES = (RULE,)
