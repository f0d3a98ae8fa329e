"""A run's rows as files that other programs read."""

from __future__ import annotations

import io
from typing import Any, Literal

import pandas as pd

from core.actions import inspect_log, machine_names
from core.actions.workspace import Workspace
from core.store import predictions, runs, traces

Format = Literal["csv", "parquet", "jsonl"]
RunFormat = Literal[Format, "eval"]  # a log of Inspect AI holds a run, no table
_FORMULAS = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "\n",
    "＝",
    "＋",
    "－",
    "＠",
)  # how formulas begin; spreadsheets read wide signs, too


def export(workspace: Workspace, run: str, form: RunFormat, *, with_traces: bool = False) -> tuple[bytes, int]:
    """Returns a file's bytes and its number of rows: predictions in file order, or, `with_traces`, one row a trace event.

    A log has both, whatever is asked; it raises as `inspect_log.build_log` does. Raises StateError if an API key stands in it.
    """
    if form == "eval":
        return inspect_log.build_log(workspace, run)
    with workspace.store.read() as db:
        found = runs.find(db, run).id
        frame = traces.frame(db, found) if with_traces else predictions.frame(db, found)
    machine_names.refuse_secrets_in_table(workspace.settings, f"run {run}", frame)
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


def encode_for_spreadsheets(frame: pd.DataFrame) -> bytes:
    """Returns a table as CSV that spreadsheets show as it is: text that they would take for a formula begins with an apostrophe.

    Numbers stay as they are, also as text. For tables that pages offer to people; files that programs read are written by
    `encode`.
    """
    safe = frame.rename(columns=_defuse)
    for i, kind in enumerate(safe.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
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
