"""Reproduced numbers in the forms for the command line, the page and a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from core.experiments.published.reproduce import Reproduced

WORDS = {True: "agrees", False: "differs", None: "not computed"}


def as_json(found: Sequence[Reproduced]) -> dict[str, Any]:
    """Return the JSON `reproduce`: every number with its published value, ours, and why they differ."""
    return {
        "numbers": [
            {
                "name": each.number.name,
                "published": each.number.published,
                "ours": each.ours,
                "tolerance": each.number.tolerance,
                "agrees": each.agrees,
                "why": each.why or None,
                "note": each.note or None,
                "group": each.number.title,
                "source": each.number.source,
            }
            for each in found
        ]
    }


def as_table(found: Sequence[Reproduced]) -> pd.DataFrame:
    """Return one row for each number: group, number (readable), name, published, ours (NaN if not computed), tolerance,
    verdict, why, source.
    """
    rows = [
        (
            *(each.number.title, each.number.words, each.number.name),
            *(each.number.published, each.ours, each.number.tolerance),
            *(WORDS[each.agrees], each.why, each.number.source),
        )
        for each in found
    ]
    columns = ["group", "number", "name", "published", "ours", "tolerance", "verdict", "why", "source"]
    return pd.DataFrame(rows, columns=columns).astype({"ours": "float64"})


def describe(found: Reproduced) -> str:
    """Describe one number in a line."""
    number = found.number
    ours = "–" if found.ours is None else value_text(found.ours)
    within = f" ± {value_text(number.tolerance)}" if number.tolerance else ""
    line = f"  {number.name:34} published {value_text(number.published) + within:18} ours {ours:10} {WORDS[found.agrees]}"
    return f"{line}: {found.why}" if found.why else line


def summarize(found: Sequence[Reproduced]) -> str:
    """Return a sentence with the counts of numbers that agree, differ and could not be computed."""
    counts = {word: sum(WORDS[each.agrees] == word for each in found) for word in WORDS.values()}
    return (
        f"{counts['agrees']:,} of {len(found):,} published numbers agree, {counts['differs']:,} differ, "
        f"{counts['not computed']:,} cannot be computed here."
    )


def value_text(value: float) -> str:
    """Format a number like the published ones: whole numbers with separators, others with up to four significant decimals."""
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:.4f}" if abs(value) >= 0.001 else f"{value:.1e}"
