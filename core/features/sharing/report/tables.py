"""Frames as HTML tables: aligned numbers, literal text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.base.texts import cell_text
from core.features.sharing.report.markup import Html, element, join

LONGEST = 200  # rows that are written; a figure draws the others


def table(frame: pd.DataFrame) -> Html:
    """Return a frame with its column names as heads; of a long one the first `LONGEST` rows, and a
    sentence on the others."""
    numeric = [
        pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
        for kind in frame.dtypes
    ]
    signed = [number and bool((frame.iloc[:, i] < 0).any()) for i, number in enumerate(numeric)]
    head = [
        element("th", str(name).replace("_", " "), scope="col", class_=_class(n))
        for name, n in zip(frame, numeric, strict=True)
    ]
    rows = [
        element(
            "tr",
            *(
                element("td", _text(v, s), class_=_class(n))
                for v, n, s in zip(row, numeric, signed, strict=True)
            ),
        )
        for row in frame.head(LONGEST).itertuples(index=False, name=None)
    ]
    found = element(
        "div",
        element("table", element("thead", element("tr", *head)), element("tbody", *rows)),
        class_="wide",
        tabindex="0",
    )
    if len(frame) <= LONGEST:
        return found
    rest = f"The first {LONGEST:,} of {len(frame):,} lines; the figure draws all of them."
    return join([found, element("p", rest, class_="muted")])


def lines(pairs: Sequence[tuple[str, object]]) -> Html:
    """Return names and values, one a line."""
    return element(
        "dl", *(join([element("dt", name), element("dd", value)]) for name, value in pairs)
    )


def _class(is_number: bool) -> str | None:
    return "number" if is_number else None


def _text(value: object, signed: bool) -> str:
    return (
        "–"
        if value is pd.NA
        else cell_text(bool(value) if isinstance(value, np.bool_) else value, signed=signed)
    )
