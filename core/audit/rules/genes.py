"""genes: a brief that names the perturbation and the gene of its pair."""

from __future__ import annotations

import re

from core.audit.rules.registry import Rule, RuleText, yes_if


def answer(text: RuleText) -> str:
    """Yes where both symbols of the pair's id stand in the text as words, in any case.

    A symbol may itself hold the underscore between the two.
    """
    parts = text.pair_id.split("_")
    splits = [("_".join(parts[:at]), "_".join(parts[at:])) for at in range(1, len(parts))]
    return yes_if(any(all(_names(text.plain, symbol) for symbol in symbols) for symbols in splits))


def _names(text: str, symbol: str) -> bool:
    """Whether a symbol stands in a text as a word, in any case."""
    if not (symbol and symbol.isascii() and text.isascii()):
        return re.search(rf"(?<!\w){re.escape(symbol)}(?!\w)", text, re.IGNORECASE) is not None
    # The same without compiling a pattern for each symbol, which would take longer than several of the other rules together.
    text, symbol = text.lower(), symbol.lower()
    at = text.find(symbol)
    while at >= 0:
        end = at + len(symbol)
        if not (_is_word(text[at - 1 : at]) or _is_word(text[end : end + 1])):
            return True
        at = text.find(symbol, at + 1)
    return False


def _is_word(character: str) -> bool:
    """Whether it is a letter, a digit or an underscore; the edge of a text, "", is none."""
    return character.isalnum() or character == "_"


RULE = Rule("genes", "Does the brief name the perturbation and the target gene?", answer)
