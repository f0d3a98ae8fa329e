"""What is stored of a run, and bundles that somebody has changed with care: hashes and row counts fit."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from core.base.archives import pack
from core.features.importing.bundle_parts import SCHEMAS
from core.runs.workspace import Workspace
from core.store import runs

Rows = list[tuple[Any, ...]]
OF_RUN = ("prediction", "trace_event", "row_evidence", "row_call", "note")
SHARED = {"evidence": "row_evidence", "call": "row_call"}


def stored(workspace: Workspace, run: str) -> dict[str, Rows]:
    """Every row of every table that belongs to a run, apart from how it came here."""
    with workspace.store.read() as db:
        key = runs.find(db, run).id
        found = {
            table: db.execute(f"SELECT * FROM {table} WHERE run = ? ORDER BY ALL", [key]).fetchall()
            for table in OF_RUN
        }
        for table, by in SHARED.items():
            query = f"SELECT * FROM {table} WHERE id IN (SELECT {table} FROM {by} WHERE run = ?) ORDER BY ALL"
            found[table] = db.execute(query, [key]).fetchall()
        found["run"] = db.execute(
            "SELECT * EXCLUDE (origin, folded_bytes) FROM run WHERE id = ?", [key]
        ).fetchall()
    return found


def everything(workspace: Workspace) -> dict[str, Rows]:
    """Every row of every table, the trail's and the counters' too."""
    with workspace.store.read() as db:
        names = [
            n
            for (n,) in db.execute(
                # what is kept is computed again on another basis
                "SELECT table_name FROM duckdb_tables() WHERE database_name = 'desk'"
                " AND table_name <> 'kept_result'"
            ).fetchall()
        ]
        return {name: db.execute(f"SELECT * FROM {name} ORDER BY ALL").fetchall() for name in names}


def opened(content: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """A bundle's manifest, and its other files by part."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {path.removesuffix(".parquet"): archive.read(path) for path in archive.namelist()}
    return json.loads(files.pop("manifest.json")), files


def closed(manifest: Any, files: Mapping[str, bytes]) -> bytes:
    """A bundle of these, whatever they are."""
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    return pack(
        {"manifest.json": text, **{f"{part}.parquet": data for part, data in files.items()}}
    )


def written(table: pa.Table, **how: Any) -> bytes:
    out = io.BytesIO()
    parquet.write_table(
        table, out, **{"compression": "none", "use_dictionary": False, "store_schema": False, **how}
    )
    return out.getvalue()


def with_files(content: bytes, rows: Mapping[str, int] | None = None, **changed: bytes) -> bytes:
    """A bundle with other files for some parts, which the manifest vouches for."""
    manifest, files = opened(content)
    for part, data in changed.items():
        manifest["parts"][part]["sha256"] = hashlib.sha256(data).hexdigest()
        manifest["parts"][part]["rows"] = (rows or {}).get(part, manifest["parts"][part]["rows"])
    return closed(manifest, files | changed)


def with_rows(content: bytes, part: str, change: Callable[[list[dict[str, Any]]], object]) -> bytes:
    """A bundle with other rows in one part."""
    _, files = opened(content)
    rows = parquet.read_table(pa.BufferReader(files[part])).to_pylist()
    change(rows)
    return with_files(
        content, {part: len(rows)}, **{part: written(pa.Table.from_pylist(rows, SCHEMAS[part]))}
    )


def with_manifest(content: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """A bundle with another manifest."""
    manifest, files = opened(content)
    change(manifest)
    return closed(manifest, files)
