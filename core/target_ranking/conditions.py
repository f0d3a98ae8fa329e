"""Names of conditions: "ctrl" for control cells, "A" for one perturbed gene, "A+B" for several."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import InputError

CONTROL = "ctrl"
SEPARATOR = "+"


def targets_in(condition: str) -> tuple[str, ...]:
    """Returns the perturbed genes of a canonical condition; none for control cells."""
    return () if condition == CONTROL else tuple(condition.split(SEPARATOR))


def parse_condition(text: str, control: str = CONTROL) -> str:
    """Returns the canonical name of a condition: symbols sorted and joined by "+"; "ctrl" for control cells.

    control: what stands for control cells, alone or as a part, as in "A+ctrl". Raises InputError for an empty part and for a
    gene that stands there twice.
    """
    stripped = text.strip()
    if stripped in (control, CONTROL):
        return CONTROL
    parts = [part.strip() for part in stripped.split(SEPARATOR)]
    if not all(parts):
        raise InputError(f"condition {text!r}: has an empty part, expected genes joined by +, such as A+B or A+{CONTROL}")
    symbols = sorted(part for part in parts if part not in (control, CONTROL))
    if len(set(symbols)) < len(symbols):
        raise InputError(f"condition {text!r}: names a gene twice, expected every gene once")
    return SEPARATOR.join(symbols) or CONTROL


def parse_conditions(texts: Sequence[str], control: str = CONTROL) -> list[str]:
    """Returns the canonical name of every condition; each distinct text is parsed once."""
    known = {text: parse_condition(text, control) for text in dict.fromkeys(texts)}
    return [known[text] for text in texts]
