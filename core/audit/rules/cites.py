"""cites: a brief that names something that stands in its row's dossier."""

from __future__ import annotations

from core.audit.rules.registry import Rule, RuleText, yes_if


def answer(text: RuleText) -> str:
    """Yes where a term of the dossier stands in the text, in any case.

    Of a stored text, whose dossier is not at hand, what was found when it was stored; "" where the run kept no dossier.
    """
    if text.citable is None:
        return yes_if("cites" in text.findings) if text.has_dossier else ""
    lowered = text.content.lower() if text.citable else ""
    return yes_if(any(term in lowered for term in text.citable))


RULE = Rule("cites", "Does the brief name something that stands in its row's dossier?", answer)
