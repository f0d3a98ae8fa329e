"""sentences: a brief of several sentences."""

from __future__ import annotations

from core.audit.rule_text import FEWEST_SENTENCES
from core.audit.rules.registry import Rule, RuleText, yes_if


def answer(text: RuleText) -> str:
    """Yes for FEWEST_SENTENCES or more; lines count as sentences, bare numbers and letters do not."""
    return yes_if(len(text.sentences) >= FEWEST_SENTENCES)


RULE = Rule("sentences", f"Has the brief {FEWEST_SENTENCES} sentences or more?", answer)
