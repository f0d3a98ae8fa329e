"""The rule about the claims that a model listed: it says yes to each, and people say which are
right."""

from __future__ import annotations

from core.features.arguments.rules.registry import Rule

RIGHT_CLAIM = Rule(
    "right_claim",
    "Does the quoted sentence make this claim about the two genes?",
    lambda _: "yes",
    unit="claim",
)
RULES = (RIGHT_CLAIM,)
