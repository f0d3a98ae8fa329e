"""Does a table have what a figure needs?"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pandas as pd

from core.errors import InputError


def columns(figure: str, table: pd.DataFrame, needed: Sequence[str]) -> None:
    """InputError names the columns that the table of `figure` lacks."""
    missing = [name for name in needed if name not in table.columns]
    if missing:
        got = ", ".join(map(str, table.columns)) or "none"
        s = "s" if len(missing) > 1 else ""
        raise InputError(f"{figure}: missing column{s} {', '.join(missing)}; got {got}; expected {', '.join(needed)}")


def one_of(figure: str, table: pd.DataFrame, column: str, known: Collection[str]) -> None:
    """InputError names the values of a column that the figure has no mark for."""
    unknown = sorted(set(map(str, table[column])) - set(known))
    if unknown:
        raise InputError(f"{figure}: {column}: got {', '.join(map(repr, unknown))}; expected {', '.join(known)}")
