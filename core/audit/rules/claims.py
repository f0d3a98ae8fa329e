"""The rules about claims: whether a brief claims something about two genes, and whether a claim that a model read is right."""

from __future__ import annotations

from core.audit.rules.registry import Rule, RuleText, yes_if


def answer(text: RuleText) -> str:
    """Return yes if a claim is found; "" without symbols."""
    if text.symbols is None:
        return ""
    from core.audit.claims import find_claims, is_answer  # no run needs it to audit its briefs

    return yes_if(any(not is_answer(claim, text.pert, text.gene) for claim in find_claims(text.content, text.symbols)))


RULE = Rule("claims", "Does the brief claim something about two genes, apart from the effect that is asked about?", answer)
# The model says yes to each claim that it lists, whatever it is; people say which are right.
RIGHT_CLAIM = Rule("right_claim", "Does the quoted sentence make this claim about the two genes?", lambda _: "yes", unit="claim")
RULES = (RULE, RIGHT_CLAIM)
