"""A data frame as a file's bytes: for programs, and for spreadsheets."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

Format = Literal["csv", "parquet", "jsonl"]
_FORMULAS = tuple("=+-@\t\r\n＝＋－＠")  # how formulas begin; spreadsheets read wide signs, too


def encode(frame: pd.DataFrame, form: Format, *, header: bool = True) -> bytes:
    """Return a frame as a file's bytes; in CSV, lists are joined with a space, below a `header`."""
    if form == "parquet":
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()
    if form == "jsonl":
        return frame.to_json(orient="records", lines=True, force_ascii=False).encode()
    lists = {c: frame[c].map(" ".join) for c in ("flags", "findings") if c in frame}
    return frame.assign(**lists).to_csv(index=False, header=header).encode()


def encode_for_spreadsheets(frame: pd.DataFrame) -> bytes:
    """Return a table as CSV that spreadsheets show unchanged: text that looks like a formula begins
    with an apostrophe.

    Numbers stay unchanged, also as text. For tables that pages offer to people; files that programs
    read are written by `encode`.
    """
    from pandas.api.types import is_numeric_dtype

    safe = frame.rename(columns=_defuse)
    for i, kind in enumerate(safe.dtypes):
        if not is_numeric_dtype(kind):
            safe.isetitem(i, safe.iloc[:, i].astype(object).map(_defuse).to_numpy())
    return encode(safe, "csv")


def _defuse(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.replace("\r\n", "\n").replace("\r", "\n")  # a lone CR would end the row
    if not text.startswith(_FORMULAS):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
