"""Tables of text: what stands between their cells.

Numbers in tables of text, with a decimal point or, as spreadsheets of half of the world write them, a decimal comma.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import Final

_COMMA: Final = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_POINT: Final = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")
_THOUSAND: Final = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # which may be 1,234 or 1.234


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


def is_decimal_comma(text: str) -> bool:
    """Return whether a text is a number with a decimal comma, and can be none with a comma between thousands."""
    bare = text.strip()
    return _COMMA.fullmatch(bare) is not None and _THOUSAND.fullmatch(bare) is None


def with_points(texts: Sequence[str]) -> list[str]:
    """Return the cells of one column with decimal points: commas become points if one of them can be nothing else, and if no cell
    has a point. A comma that may stand between thousands stays, and the cell is then no number."""
    if not any("," in text for text in texts) or not any(map(is_decimal_comma, texts)):
        return list(texts)
    if any(_POINT.fullmatch(text.strip()) for text in texts):
        return list(texts)
    return [text.replace(",", ".") if _COMMA.fullmatch(text.strip()) else text for text in texts]
