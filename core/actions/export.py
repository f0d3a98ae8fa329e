"""A run's rows as files that other programs read."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO, Any, Literal

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from core.actions import inspect_log, machine_names
from core.actions.workspace import Workspace
from core.config import Settings
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
    """Returns a file's bytes and its number of rows; see `export_into`."""
    out = io.BytesIO()
    n_rows = export_into(out, workspace, run, form, with_traces=with_traces)
    return out.getvalue(), n_rows


def export_into(out: IO[bytes], workspace: Workspace, run: str, form: RunFormat, *, with_traces: bool = False) -> int:
    """Write a run to an open file and return the number of rows: predictions in file order, or, `with_traces`, one row a trace
    event, of which some thousand are in memory at a time.

    A log has both, whatever is asked; it raises as `inspect_log.build_log` does. Raises StateError if an API key stands in it.
    """
    if form == "eval":
        return inspect_log.write_log(out, workspace, run)
    with workspace.store.read() as db:
        found = runs.find(db, run).id
        frames = traces.frames(db, found) if with_traces else iter([predictions.frame(db, found)])
        checked = _without_secrets(workspace.settings, run, frames)
        if form == "parquet":
            return _write_parquet(out, checked)
        n_rows = 0
        for frame in checked:
            out.write(encode(frame, form, header=not n_rows))
            n_rows += len(frame)
    return n_rows


def _without_secrets(settings: Settings, run: str, frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Yield frames. Raise StateError for one in which a secret stands."""
    for frame in frames:
        machine_names.refuse_secrets_in_table(settings, f"run {run}", frame)
        yield frame


def _write_parquet(out: IO[bytes], frames: Iterator[pd.DataFrame]) -> int:
    """Write frames as row groups of one file."""
    n_rows, writer = 0, None
    for frame in frames:
        if writer is None:
            schema = _schema_of(frame)
            writer = parquet.ParquetWriter(out, schema)
        writer.write_table(pa.Table.from_pandas(frame, schema=schema, preserve_index=False))
        n_rows += len(frame)
    if writer is not None:
        writer.close()
    return n_rows


def _schema_of(frame: pd.DataFrame) -> pa.Schema:
    """The columns of all frames by the first, in which lists may all be empty."""
    schema = pa.Schema.from_pandas(frame, preserve_index=False)
    for at, field in enumerate(schema):
        if pa.types.is_list(field.type):
            schema = schema.set(at, field.with_type(pa.list_(pa.string())))
    return schema


def encode(frame: pd.DataFrame, form: Format, *, header: bool = True) -> bytes:
    """Returns a frame as a file's bytes; in CSV, lists are joined with a space, below a `header`."""
    if form == "parquet":
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()
    if form == "jsonl":
        return frame.to_json(orient="records", lines=True, force_ascii=False).encode()
    lists = {c: frame[c].map(" ".join) for c in ("flags", "findings") if c in frame}
    return frame.assign(**lists).to_csv(index=False, header=header).encode()


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
