"""A run's rows as files that other programs read."""

from __future__ import annotations

import io
from typing import Literal

import pandas as pd

from core.store import Cursor, predictions, traces

Format = Literal["csv", "parquet", "jsonl"]


def export(db: Cursor, run: str, form: Format, *, with_traces: bool = False) -> tuple[bytes, int]:
    """Returns a file's bytes and its number of rows: predictions in file order, or, `with_traces`, one row a trace event."""
    frame = traces.frame(db, run) if with_traces else predictions.frame(db, run)
    return encode(frame, form), len(frame)


def encode(frame: pd.DataFrame, form: Format) -> bytes:
    """Returns a frame as a file's bytes; in CSV, lists are joined with a space."""
    if form == "parquet":
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()
    if form == "jsonl":
        return frame.to_json(orient="records", lines=True, force_ascii=False).encode()
    lists = {c: frame[c].map(" ".join) for c in ("flags", "findings") if c in frame}
    return frame.assign(**lists).to_csv(index=False).encode()
