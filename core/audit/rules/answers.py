"""answers: a brief that answers the multiple-choice question instead of arguing."""

from __future__ import annotations

from core.audit.rules.registry import Rule, RuleText, yes_if


def answer(text: RuleText) -> str:
    """Yes for A, B or C first, alone or behind "answer", before a bracket, a full stop, a colon or nothing else."""
    return yes_if(text.answer != "")


RULE = Rule("answers", "Does the brief open with an answer to the multiple-choice question: A, B or C?", answer)
