"""Tables of text: what stands between their cells."""

from __future__ import annotations

import csv
from typing import Final

DELIMITERS: Final = (",", "\t", ";", "|")


def delimiter_of(line: str) -> str:
    """Return what stands between the cells of a table whose first line this is: that of DELIMITERS which makes most cells, a
    comma where none is there. Of two that make as many it is not the comma, which is a decimal one then (A;0,5)."""
    counts = {delimiter: len(_cells(line, delimiter)) for delimiter in DELIMITERS}
    most = max(counts.values())
    return next((each for each in reversed(DELIMITERS) if counts[each] == most > 1), ",")


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []
