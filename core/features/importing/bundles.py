"""A run's bundle: one zip with a run and everything that belongs to it, to send to a colleague.
Equal runs give equal bytes.

manifest.json       the format's version, the run's record, its dataset, and the hash and row count
                    of every part
prediction.parquet  one row per pair, failures included; events, evidence, calls and notes have a
                    file each

It holds no settings, no file paths, and no labels except those that evidence and prompts quote.
`core.features.importing.bundle_parts` has the columns.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated, Any, Literal, TypeVar

from annotated_types import Ge, Le, MaxLen, Predicate

from core import __version__
from core.base.archives import Content, is_zip, open_archive, open_members, pack_into
from core.base.errors import InputError
from core.base.file_io import UnnamedFile
from core.base.file_limits import MAX_UNPACKED_BYTES
from core.base.hashes import sha256_of_open
from core.base.records import Misfit, fit, to_json
from core.base.row_schema import VERSION, field_names, local_of, utc_of
from core.base.texts import quote
from core.base.types import FALLBACKS, RunRecord, Track
from core.features.importing.bundle_parts import (
    SCHEMAS,
    PartFile,
    Parts,
    check,
    count_rows,
    have_same_rows,
    is_json_object,
)

FORMAT = "perturbdesk_bundle"
MANIFEST = "manifest.json"
MOST_MANIFEST_BYTES = 1 << 22
_CHUNK_BYTES = 1 << 20
# states of a run without a worker
ENDED = ("done", "crashed", "interrupted", "stopped", "budget", "cancelled")
_FILES = {part: f"{part}.parquet" for part in SCHEMAS}
_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f]")  # what a terminal would obey
_TIMES = ("created_at", "started_at", "finished_at")
_TIMES_OF_WORKERS = ("started_at", "finished_at")  # in UTC in the file
_NAMES_AND_TIMES = {"name", "origin", "code_version", "parent_names", *_TIMES}
_MOST_NAME = 1_000  # characters of a name
_MOST_TEXT = 1_000_000  # of a remark or a cause
_MOST_CUTS = 100  # of a run's evaluation
R = TypeVar("R")


def _is_line(text: str) -> bool:
    return len(text) <= _MOST_NAME and text.strip() != "" and not _CONTROL.search(text)


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is None
    except ValueError:
        return False


Line = Annotated[str, Predicate(_is_line), f"a line of 1 to {_MOST_NAME:,} characters"]
Prose = Annotated[str, MaxLen(_MOST_TEXT), f"a text of at most {_MOST_TEXT:,} characters"]
Rows = Annotated[int, Ge(0), Le(2**31 - 1), "a whole number, 0 or more"]
Tokens = Annotated[int, Ge(0), Le(2**63 - 1), "a whole number, 0 or more"]
Share = Annotated[float, Ge(0), Le(1), "0 to 1"]
Time = Annotated[str, Predicate(_is_time), "a time without a zone"]
RunId = Annotated[str, Predicate(re.compile("[0-9a-f]{10}").fullmatch), "10 hexadecimal digits"]


@dataclass(frozen=True, slots=True)
class _Parent:
    id: RunId
    name: Line | None


@dataclass(frozen=True, slots=True)
class _Protocol:
    kind: Literal["test", "loo", "folds"]
    k: Rows
    seed: Rows


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """What `core.base.types.RunRecord.evaluation` may hold."""

    protocols: tuple[_Protocol, ...]
    cuts: Annotated[
        tuple[tuple[Share, Share], ...], MaxLen(_MOST_CUTS), f"at most {_MOST_CUTS} pairs of scores"
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunOfManifest:
    """A run's record as a manifest holds it."""

    id: RunId
    name: Line
    method: Line
    origin: Line
    code_version: Line
    track: Track | None
    model: Line | None
    spec: Mapping[str, Any]
    evaluation: _Evaluation | None
    parents: tuple[_Parent, ...]
    status: Annotated[str, Predicate(ENDED.__contains__), ", ".join(ENDED)]
    cause: Prose
    total: Rows
    done: Rows
    failed: Rows
    fallbacks: Rows
    collapsed: Rows
    tokens_unknown: Rows
    tokens: Tokens | None
    spent_tokens: Tokens | None
    expected_calls: Tokens | None
    public_score: Share | None
    note: Prose | None
    created_at: Time | None
    started_at: Time | None
    finished_at: Time | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledRun(RunRecord):
    """A run's record in a bundle. parent_names: name by id, of the parents whose name is known."""

    parent_names: Mapping[str, str]

    @property
    def content(self) -> dict[str, Any]:
        """The fields that must agree between two records of a run: all but names, the imported
        file, times and versions."""
        values = {
            f.name: getattr(self, f.name) for f in fields(self) if f.name not in _NAMES_AND_TIMES
        }
        return values | {"spec": {**self.spec, "file": ""}}


@dataclass(frozen=True, slots=True)
class BundledDataset:
    """The dataset that a bundled run is on. sha256: `pairs.pairs_sha256` of its rows."""

    name: Line
    kind: Literal["ternary"]
    organism: Prose
    context: Prose
    rows: Rows
    sha256: Annotated[str, Predicate(re.compile("[0-9a-f]{64}").fullmatch), "64 hexadecimal digits"]


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """A run, its dataset, and the file of each part (see `bundle_parts.SCHEMAS`)."""

    run: BundledRun
    dataset: BundledDataset
    parts: Parts


def differences(first: Bundle, second: Bundle) -> list[str]:
    """Return what differs between two bundles of a run: fields of `BundledRun.content`, then parts.

    What the audit finds follows from the rest, by rules that differ between versions, and makes no
    difference.
    """
    one, other = first.run.content, second.run.content
    return [
        *(name for name in one if one[name] != other[name] and name != "collapsed"),
        *(
            part
            for part in SCHEMAS
            if first.parts[part] is not second.parts[part]
            and not have_same_rows(first.parts[part], second.parts[part], part)
        ),
    ]


def write_bundle_into(out: IO[bytes], bundle: Bundle) -> None:
    """Write a bundle's file. Raise InputError if it is larger than `read_bundle` allows."""
    files = {part: bundle.parts[part].file for part in SCHEMAS}
    values = {
        FORMAT: VERSION,
        "written_by": __version__,
        "run": _run_as_json(bundle.run),
        "dataset": {f.name: getattr(bundle.dataset, f.name) for f in fields(BundledDataset)},
        "parts": {
            part: {"sha256": sha256_of_open(file), "rows": bundle.parts[part].num_rows}
            for part, file in files.items()
        },
    }
    try:
        manifest = json.dumps(
            values, ensure_ascii=False, allow_nan=False, indent=1, sort_keys=True
        ).encode()
    except (ValueError, TypeError) as error:
        raise InputError(
            f"run {bundle.run.name}: cannot be written down ({error}), expected plain data"
        ) from error
    size = len(manifest) + sum(file.seek(0, io.SEEK_END) for file in files.values())
    if size > MAX_UNPACKED_BYTES or len(manifest) > MOST_MANIFEST_BYTES:
        raise InputError(
            f"run {bundle.run.name}: a bundle of {size:,} bytes, expected at most"
            f" {MAX_UNPACKED_BYTES:,}"
        )
    pack_into(
        out, lambda: [(MANIFEST, manifest), *((_FILES[part], file) for part, file in files.items())]
    )


def is_bundle(path: Path) -> bool:
    """Return whether a file is a bundle, or the damaged beginning of one."""
    with path.open("rb") as file:
        head = file.read(30 + len(MANIFEST))  # where a zip's first member is named
        if not is_zip(head):
            return False
        try:
            return {MANIFEST, _FILES["prediction"]} <= set(open_archive(file, path.name).namelist())
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError):
            return head.endswith(MANIFEST.encode())


def read_bundle(content: Content, name: str) -> Bundle:
    """Return the bundle in a file; every cell is checked. Raise InputError or UnsafeFile."""
    names = {MANIFEST, *_FILES.values()}
    paths: list[str] = []

    def note(path: str) -> bool:
        paths.append(path)
        return path in names

    files = {path: _copy(stream) for path, stream in open_members(content, name, note)}
    if sorted(paths) != sorted(names):
        raise InputError(
            f"{name}: holds {quote(', '.join(paths), 200)}, expected a bundle's"
            f" {', '.join(sorted(names))}"
        )
    where = f"{name}/{MANIFEST}"
    manifest = _read_manifest(files[MANIFEST].read(), where)
    parts: dict[str, PartFile] = {}
    stated: dict[str, dict[str, Any]] = {}
    for part, file in _FILES.items():
        stated[part] = _require_keys(
            manifest["parts"].get(part), ("sha256", "rows"), f"{where}, {part}"
        )
        if sha256_of_open(files[file]) != stated[part]["sha256"]:
            raise InputError(
                f"{name}/{file}: its hash is not the one in {MANIFEST}; expected a file that nobody"
                " changed"
            )
        parts[part] = PartFile(files[file], part, f"{name}/{file}")
    check(parts, name)
    for part, file in _FILES.items():
        if parts[part].num_rows != stated[part]["rows"]:
            raise InputError(
                f"{name}/{file}: {parts[part].num_rows:,} rows, expected"
                f" {quote(str(stated[part]['rows']))}"
            )
    run = _read_run(manifest["run"], f"{where}, run")
    for what, number in count_rows(parts["prediction"], FALLBACKS).items():
        if getattr(run, what) != number:
            raise InputError(
                f"{where}, run: {what} is {getattr(run, what)}, but its rows say {number}"
            )
    # of the rows that did not fail
    sources = set(parts["prediction"]["p_source"].drop_null().unique().to_pylist())
    if not (sources <= {"none"} if run.is_reading else "none" not in sources):
        which = (
            "some of its rows have predictions" if run.is_reading else "some of its rows have none"
        )
        raise InputError(
            f"{where}, run: method is {quote(run.method)}, but {which}; expected them unless it is"
            " a reading"
        )
    if run.total < run.done + run.failed:
        raise InputError(
            f"{where}, run: total is {run.total:,}, but {run.done + run.failed:,} rows are there"
        )
    return Bundle(run, _fit(BundledDataset, manifest["dataset"], f"{where}, dataset"), parts)


def _copy(stream: io.RawIOBase) -> IO[bytes]:
    """Return a file of its own with what is left of a stream, from its beginning."""
    file = UnnamedFile()
    while chunk := stream.read(_CHUNK_BYTES):
        file.write(chunk)
    file.seek(0)
    return file


def _read_manifest(data: bytes, where: str) -> dict[str, Any]:
    if len(data) > MOST_MANIFEST_BYTES:
        raise InputError(f"{where}: {len(data):,} bytes, expected at most {MOST_MANIFEST_BYTES:,}")
    try:
        text = data.decode()
        manifest = json.loads(text) if is_json_object(text) else None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON ({error})") from error
    version = manifest.get(FORMAT) if manifest else None
    if manifest is None or type(version) is not int:
        raise InputError(f"{where}: {quote(text)}, expected a JSON object with {FORMAT}")
    if version != VERSION:
        raise InputError(
            f"{where}: format {version}, this version reads {VERSION}; update PerturbDesk to"
            " import it"
        )
    manifest = _require_keys(manifest, (FORMAT, "written_by", "run", "dataset", "parts"), where)
    _require_keys(manifest["parts"], tuple(SCHEMAS), f"{where}, parts")
    return manifest


def _require_keys(value: object, keys: Iterable[str], where: str) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != set(keys):
        found = ", ".join(map(str, value)) if isinstance(value, dict) else str(value)
        raise InputError(f"{where}: holds {quote(found, 200)}, expected {', '.join(keys)}")
    return value


def _fit(kind: type[R], value: object, where: str) -> R:
    try:
        return fit(kind, value)
    except Misfit as error:
        raise InputError(f"{where}: {error}") from error


def _run_as_json(run: BundledRun) -> dict[str, Any]:
    values = {name: getattr(run, name) for name in field_names(RunRecord)}
    values |= {name: values[name] and utc_of(values[name]) for name in _TIMES_OF_WORKERS}
    values |= {name: values[name] and values[name].isoformat() for name in _TIMES}
    parents = [{"id": parent, "name": run.parent_names.get(parent)} for parent in run.parents]
    return values | {"spec": dict(run.spec), "parents": parents}


def _read_spec(run: _RunOfManifest) -> Mapping[str, Any]:
    """Return the specification of a run; None for what a kNN of version 0.2 lacks, which wrote 0
    there."""
    options = run.spec.get("options")
    if run.method != "knn" or not isinstance(options, Mapping):
        return run.spec
    return {
        **run.spec,
        "options": {
            name: None if name in ("k", "de_power") and value == 0 else value
            for name, value in options.items()
        },
    }


def _read_run(value: object, where: str) -> BundledRun:
    found = _fit(_RunOfManifest, value, where)
    values = to_json(found) | {"spec": _read_spec(found)}
    times = {name: values[name] and datetime.fromisoformat(values[name]) for name in _TIMES}
    times |= {name: times[name] and local_of(times[name]) for name in _TIMES_OF_WORKERS}
    names = {parent.id: parent.name for parent in found.parents if parent.name is not None}
    return BundledRun(
        **{
            **values,
            **times,
            "parents": tuple(parent.id for parent in found.parents),
            "parent_names": names,
        }
    )
