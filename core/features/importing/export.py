"""A run's rows as files that other programs read.

A run as a log of Inspect AI (.eval), which its viewer opens and `import` reads back.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import IO, Any, Literal

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from core.base import environment
from core.base.archives import pack_into
from core.base.config import Settings
from core.base.errors import InputError
from core.base.row_schema import utc_of
from core.base.texts import number_text
from core.base.types import RowResult, TraceEvent
from core.base.workbook import Format, encode
from core.features.importing.inspect_logs import log_members
from core.features.importing.traces import KEY, write_trace
from core.runs import run_control
from core.runs.workspace import Workspace
from core.store import Cursor, datasets, pairs, predictions, runs, traces
from core.store.predictions import RowFilter
from core.store.runs import Run

JsonObject = dict[str, Any]


RunFormat = Literal[Format, "eval"]  # a log of Inspect AI holds a run, no table


def export(
    workspace: Workspace, run: str, form: RunFormat, *, with_traces: bool = False
) -> tuple[bytes, int]:
    """Return a file's bytes and its number of rows; see `export_into`."""
    out = io.BytesIO()
    n_rows = export_into(out, workspace, run, form, with_traces=with_traces)
    return out.getvalue(), n_rows


def export_into(
    out: IO[bytes], workspace: Workspace, run: str, form: RunFormat, *, with_traces: bool = False
) -> int:
    """Write a run to an open file and return the number of rows.

    They are predictions in file order, or, `with_traces`, one row per trace event, with some
    thousand in memory at a time. A log always has both, and raises what `write_log` raises. Raise
    StateError if it contains an API key.
    """
    if form == "eval":
        return write_log(out, workspace, run)
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


def _without_secrets(
    settings: Settings, run: str, frames: Iterator[pd.DataFrame]
) -> Iterator[pd.DataFrame]:
    """Yield frames. Raise StateError for one in which a secret stands."""
    for frame in frames:
        texts = frame.select_dtypes(["object", "string"]).astype(str)
        cells = (cell.encode() for _, column in texts.items() for cell in column)
        environment.refuse_secrets(settings, f"run {run}", cells if settings.secrets else ())
        yield frame


def _write_parquet(out: IO[bytes], frames: Iterator[pd.DataFrame]) -> int:
    """Write frames as row groups of one file."""
    n_rows, writer = 0, None
    for frame in frames:
        if writer is None:
            schema = pa.Schema.from_pandas(frame, preserve_index=False)
            for at, field in enumerate(schema):
                if pa.types.is_list(field.type):
                    schema = schema.set(at, field.with_type(pa.list_(pa.string())))
            writer = parquet.ParquetWriter(out, schema)
        writer.write_table(pa.Table.from_pandas(frame, schema=schema, preserve_index=False))
        n_rows += len(frame)
    if writer is not None:
        writer.close()
    return n_rows


def write_log(out: IO[bytes], workspace: Workspace, run: str) -> int:
    """Write a run's log to an empty file, sample by sample, and return its number of rows: the same
    run gives the same bytes.

    Raise StateError while a worker is on the run, or if it contains an API key; InputError for a
    run without rows.
    """
    found = runs.refuse_reading(run_control.settle_run(workspace, run))
    with workspace.store.read() as db:
        ids = predictions.find_pair_ids(db, found.id, RowFilter())
        if not ids:
            raise InputError(f"run {found.name}: no rows, expected at least one to write a log of")
        header = _header(found, datasets.find(db, found.dataset).name, workspace.settings, ids)

        def members() -> Iterator[tuple[str, bytes]]:
            for path, content in log_members(
                header, _read_samples(db, workspace.settings, found, ids)
            ):
                environment.refuse_secrets(workspace.settings, f"run {found.name}", [content])
                yield path, content

        pack_into(out, members)
    return len(ids)


def _read_samples(
    db: Cursor, settings: Settings, run: Run, ids: Sequence[str]
) -> Iterator[JsonObject]:
    """Yield one sample per row, in file order; a row that failed has its error and no score. ids:
    of all rows, in that order."""
    outcomes = predictions.list_rows(db, run.id, ids).set_index("pair_id")["outcome"].to_dict()
    frame = pairs.frame(db, run.dataset, asked=True).set_index("pair_id")[
        ["pert", "gene", "label", "split"]
    ]
    known = frame.astype(object).where(frame.notna(), None).to_dict("index")
    clean = environment.remover(settings)
    rows = traces.each_row(db, run.id)
    row = next(rows, None)
    for key in ids:
        pair = {str(name): value for name, value in known[key].items()}
        sample = _sample(key, pair)
        if row is not None and row.prediction.pair_id == key:
            said, row = _answer(run, row, outcomes[key]), next(rows, None)
        else:
            error = clean(str(predictions.row(db, run.id, key)["error"]))
            said = {"error": {"message": error, "traceback": error, "traceback_ansi": error}}
        said["metadata"] = {"pair_id": key, **pair, **said.get("metadata", {})}
        said["messages"] = [*sample["messages"], *said.get("messages", [])]
        yield sample | said


def _sample(pair_id: str, pair: Mapping[str, Any]) -> JsonObject:
    question = (
        f"Does knocking down {pair['pert']} change the expression of {pair['gene']}, and up or"
        " down?"
    )
    asked = {"id": f"{pair_id}-question", "role": "user", "source": "input", "content": question}
    empty: JsonObject = {
        "scores": {},
        "model_usage": {},
        "metadata": {},
        "store": {},
        "events": [],
        "attachments": {},
    }
    label = pair["label"] or ""
    return {
        "id": pair_id,
        "epoch": 1,
        "input": question,
        "target": str(label),
        "messages": [asked],
        **empty,
    }


def _answer(run: Run, row: RowResult, outcome: object) -> JsonObject:
    """Return a run's record of a row: one message per event, the submitted numbers as a score, and
    hit or miss if known."""
    numbers, model = row.prediction, _model(run)
    up, down = numbers.prediction_up, numbers.prediction_down
    said = [_message(numbers.pair_id, n, event, model) for n, event in enumerate(row.events)]
    answer = f"up {number_text(up)}, down {number_text(down)}"
    last = {
        "id": f"{numbers.pair_id}-answer",
        "role": "assistant",
        "source": "generate",
        "model": model,
        "content": answer,
    }
    values = {
        "prediction_up": up,
        "prediction_down": down,
        "p_de": numbers.p_de,
        "p_up_given_de": numbers.p_up_given_de,
    }
    scores: JsonObject = {"prediction": {"value": values, "answer": answer}}
    if outcome in ("hit", "miss"):
        words = f"{outcome}: the most probable of up, down and none"
        scores["outcome"] = {"value": "C" if outcome == "hit" else "I", "explanation": words}
    total, asked = numbers.tokens or 0, numbers.prompt_tokens or 0
    used = {"input_tokens": asked, "output_tokens": max(total - asked, 0), "total_tokens": total}
    return {
        "messages": [*said, last],
        "output": {
            "model": model,
            "choices": [{"message": last, "stop_reason": "stop"}],
            "completion": answer,
        },
        "scores": scores,
        "metadata": {
            "flags": [str(flag) for flag in numbers.flags],
            KEY: json.loads(write_trace(row, run.method)),
        },
        "model_usage": {model: used} if numbers.tokens is not None else {},
    }


def _message(pair_id: str, number: int, event: TraceEvent, model: str) -> JsonObject:
    heading = f"**{event.role}: {event.kind.replace('_', ' ')}** ({event.stage})"
    content = f"{heading}\n\n{event.content}"
    return {
        "id": f"{pair_id}-{number}",
        "role": "assistant",
        "source": "generate",
        "model": model,
        "content": content,
    }


def _model(run: Run) -> str:
    return run.model or "none/none"


def _header(run: Run, dataset: str, settings: Settings, ids: list[str]) -> JsonObject:
    """Return the log's head: the task, the model, and the status."""
    clean = environment.remover(settings)
    ours = {
        "run": run.id,
        "name": run.name,
        "method": run.method,
        "track": run.track,
        "origin": run.origin,
    }
    spec = environment.change_texts(run.spec, clean)
    started, finished = (_time(at or run.created_at) for at in (run.started_at, run.finished_at))
    return {
        "status": "success" if run.status == "done" else "cancelled",
        "eval": {
            "eval_id": run.id,
            "run_id": run.id,
            "created": _time(run.created_at),
            "task": run.name,
            "task_id": run.id,
            "dataset": {"name": dataset, "samples": len(ids), "sample_ids": ids, "shuffled": False},
            "model": _model(run),
            "config": {"epochs": 1},
            "packages": {"perturbdesk": run.code_version},
            "metadata": {KEY: {**ours, "spec": spec}},
        },
        "plan": {"name": "plan", "steps": [{"solver": run.method, "params": {}}], "config": {}},
        "results": {"total_samples": len(ids), "completed_samples": run.done, "scores": []},
        "stats": {"started_at": started, "completed_at": finished, "model_usage": {}},
    }


def _time(at: datetime | None) -> str:
    """Return a time of a run, in UTC; the first that there is if it is unknown."""
    return f"{datetime(1970, 1, 1) if at is None else utc_of(at):%Y-%m-%dT%H:%M:%S}+00:00"
