"""A run's bundle: one zip with a run and everything that belongs to it, to send to a colleague. Equal runs give equal bytes.

manifest.json       the format's version, the run's record, its dataset, and the hash and row count of every part
prediction.parquet  one row per pair, failures included; events, evidence, calls and notes have a file each

It holds no settings, no file paths, and no labels except those that evidence and prompts quote. `core.datasets.bundle_parts`
has the columns.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import IO, Any, get_args

import pyarrow as pa

from core import __version__
from core.clock import local_of, utc_of
from core.datasets.archives import Content, is_zip, open_archive, open_members, pack_into
from core.datasets.bundle_parts import (
    LARGE,
    SCHEMAS,
    PartFile,
    Parts,
    check,
    count_rows,
    encode,
    encode_into,
    have_same_rows,
    holds_rows_of,
    is_json_object,
)
from core.datasets.tables import quote
from core.errors import InputError
from core.file_io import UnnamedFile
from core.file_limits import MAX_UNPACKED_BYTES
from core.row_schema import VERSION, field_names, is_finite_number
from core.types import FALLBACKS, DatasetKind, RunRecord, Track

FORMAT = "perturbdesk_bundle"
MANIFEST = "manifest.json"
MOST_MANIFEST_BYTES = 1 << 22
_CHUNK_BYTES = 1 << 20
ENDED = ("done", "crashed", "interrupted", "stopped", "budget", "cancelled")  # states of a run without a worker
_FILES = {part: f"{part}.parquet" for part in SCHEMAS}
_RUN_ID = re.compile("[0-9a-f]{10}")
_SHA256 = re.compile("[0-9a-f]{64}")
_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f]")  # what a terminal would obey
_TIMES = ("created_at", "started_at", "finished_at")
_TIMES_OF_WORKERS = ("started_at", "finished_at")  # in UTC in the file
_NAMES_AND_TIMES = {"name", "origin", "code_version", "parent_names", *_TIMES}
_MOST_NAME = 1_000  # characters of a name
_MOST_TEXT = 1_000_000  # of a remark or a cause
_MOST_ROWS, _MOST_TOKENS = 2**31 - 1, 2**63 - 1
_MOST_CUTS = 100  # of a run's evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledRun(RunRecord):
    """A run's record in a bundle. parent_names: name by id, of the parents whose name is known."""

    parent_names: Mapping[str, str]

    @property
    def content(self) -> dict[str, Any]:
        """The fields that must agree between two records of a run: all but names, the imported file, times and versions."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _NAMES_AND_TIMES}
        return values | {"spec": {**self.spec, "file": ""}}


@dataclass(frozen=True, slots=True)
class BundledDataset:
    """The dataset that a bundled run is on. sha256: as in `pairs_sha256`, of all its rows."""

    name: str
    kind: str
    organism: str
    context: str
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """A run, its dataset, and a table of each part (see `bundle_parts.SCHEMAS`)."""

    run: BundledRun
    dataset: BundledDataset
    parts: Parts


def pairs_sha256(pairs: Iterable[tuple[str, str, str]]) -> str:
    """The hash of (pair id, perturbation, gene) in any order."""
    return hashlib.sha256(json.dumps(sorted(map(list, pairs))).encode()).hexdigest()


def differences(first: Bundle, second: Bundle) -> list[str]:
    """What differs between two bundles of a run: fields of `BundledRun.content`, then parts.

    What the audit finds follows from the rest, by rules that differ between versions, and makes no difference.
    """
    one, other = first.run.content, second.run.content
    return [
        *(name for name in one if one[name] != other[name] and name != "collapsed"),
        *(
            part
            for part in SCHEMAS
            if first.parts[part] is not second.parts[part] and not have_same_rows(first.parts[part], second.parts[part], part)
        ),
    ]


def write_bundle(bundle: Bundle) -> bytes:
    """The bytes of a bundle's file. Raises as `write_bundle_into`."""
    out = io.BytesIO()
    write_bundle_into(out, bundle)
    return out.getvalue()


def write_bundle_into(out: IO[bytes], bundle: Bundle) -> None:
    """Write a bundle's file. Raise InputError if it is larger than `read_bundle` allows."""
    files = {part: _file_of(bundle.parts[part]) for part in SCHEMAS}
    values = {
        FORMAT: VERSION,
        "written_by": __version__,
        "run": _run_as_json(bundle.run),
        "dataset": {f.name: getattr(bundle.dataset, f.name) for f in fields(BundledDataset)},
        "parts": {part: _describe_part(file, bundle.parts[part].num_rows) for part, file in files.items()},
    }
    try:
        manifest = json.dumps(values, ensure_ascii=False, allow_nan=False, indent=1, sort_keys=True).encode()
    except (ValueError, TypeError) as error:
        raise InputError(f"run {bundle.run.name}: cannot be written down ({error}), expected plain data") from error
    size = len(manifest) + sum(file.seek(0, io.SEEK_END) for file in files.values())
    if size > MAX_UNPACKED_BYTES or len(manifest) > MOST_MANIFEST_BYTES:
        raise InputError(f"run {bundle.run.name}: a bundle of {size:,} bytes, expected at most {MAX_UNPACKED_BYTES:,}")
    pack_into(out, lambda: [(MANIFEST, manifest), *((_FILES[part], file) for part, file in files.items())])


def _file_of(part: pa.Table) -> IO[bytes]:
    return part.file if isinstance(part, PartFile) else io.BytesIO(encode(part))


def _describe_part(file: IO[bytes], rows: int) -> dict[str, Any]:
    return {"sha256": sha256_of_open(file), "rows": rows}


def sha256_of_open(file: IO[bytes]) -> str:
    """The SHA-256 of an open file, from its beginning."""
    file.seek(0)
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def is_bundle(path: Path) -> bool:
    """Whether a file is a bundle, or the damaged beginning of one."""
    with path.open("rb") as file:
        head = file.read(30 + len(MANIFEST))  # where a zip's first member is named
        if not is_zip(head):
            return False
        try:
            return {MANIFEST, _FILES["prediction"]} <= set(open_archive(file, path.name).namelist())
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError):
            return head.endswith(MANIFEST.encode())


def read_bundle(content: Content, name: str) -> Bundle:
    """The bundle in a file; every cell is checked. Raises InputError or UnsafeFile."""
    names = {MANIFEST, *_FILES.values()}
    paths: list[str] = []

    def note(path: str) -> bool:
        paths.append(path)
        return path in names

    files = {path: _copy(stream) for path, stream in open_members(content, name, note)}
    if sorted(paths) != sorted(names):
        raise InputError(f"{name}: holds {quote(', '.join(paths), 200)}, expected a bundle's {', '.join(sorted(names))}")
    where = f"{name}/{MANIFEST}"
    manifest = _read_manifest(files[MANIFEST].read(), where)
    parts: dict[str, pa.Table] = {}
    for part, file in _FILES.items():
        stated = _require_keys(manifest["parts"].get(part), ("sha256", "rows"), f"{where}, {part}")
        if sha256_of_open(files[file]) != stated["sha256"]:
            raise InputError(f"{name}/{file}: its hash is not the one in {MANIFEST}; expected a file that nobody changed")
        parts[part] = _read_part(files[file], part, f"{name}/{file}")
        if parts[part].num_rows != stated["rows"]:
            raise InputError(f"{name}/{file}: {parts[part].num_rows:,} rows, expected {quote(str(stated['rows']))}")
    check(parts, name)
    run = _read_run(manifest["run"], f"{where}, run")
    for what, number in count_rows(parts["prediction"], FALLBACKS).items():
        if getattr(run, what) != number:
            raise InputError(f"{where}, run: {what} is {getattr(run, what)}, but its rows say {number}")
    if not holds_rows_of(parts["prediction"], a_reading=run.is_reading):
        which = "some of its rows have predictions" if run.is_reading else "some of its rows have none"
        raise InputError(f"{where}, run: method is {quote(run.method)}, but {which}; expected them unless it is a reading")
    if run.total < run.done + run.failed:
        raise InputError(f"{where}, run: total is {run.total:,}, but {run.done + run.failed:,} rows are there")
    dataset = _require_values(manifest["dataset"], _DATASET, f"{where}, dataset")
    return Bundle(run, BundledDataset(**dataset), parts)


def _copy(stream: io.RawIOBase) -> IO[bytes]:
    """A file of its own with what is left of a stream, from its beginning."""
    file = UnnamedFile()
    while chunk := stream.read(_CHUNK_BYTES):
        file.write(chunk)
    file.seek(0)
    return file


def _read_part(file: IO[bytes], part: str, where: str) -> pa.Table:
    found = PartFile(file, part, where)
    if part not in LARGE:
        return found.select(SCHEMAS[part].names).combine_chunks()
    for _ in found.to_batches():  # whatever is wrong with it is said at once
        pass
    return found


def make_part(pieces: Iterable[pa.Table], part: str, where: str) -> PartFile:
    """A part of a bundle that is to be written, in a file of its own."""
    file = UnnamedFile()
    encode_into(file, pieces)
    return PartFile(file, part, where)


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
        raise InputError(f"{where}: format {version}, this version reads {VERSION}; update PerturbDesk to import it")
    manifest = _require_keys(manifest, (FORMAT, "written_by", "run", "dataset", "parts"), where)
    _require_keys(manifest["parts"], tuple(SCHEMAS), f"{where}, parts")
    return manifest


def _require_keys(value: object, keys: Iterable[str], where: str) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != set(keys):
        found = ", ".join(map(str, value)) if isinstance(value, dict) else str(value)
        raise InputError(f"{where}: holds {quote(found, 200)}, expected {', '.join(keys)}")
    return value


def _require_values(value: object, expected: Mapping[str, tuple[Callable[[Any], bool], str]], where: str) -> dict[str, Any]:
    values = _require_keys(value, expected, where)
    for key, (is_valid, words) in expected.items():
        if not is_valid(values[key]):
            raise InputError(f"{where}: {key} is {quote(json.dumps(values[key]))}, expected {words}")
    return values


def _run_as_json(run: BundledRun) -> dict[str, Any]:
    values = {name: getattr(run, name) for name in field_names(RunRecord)}
    values |= {name: values[name] and utc_of(values[name]) for name in _TIMES_OF_WORKERS}
    values |= {name: values[name] and values[name].isoformat() for name in _TIMES}
    parents = [{"id": parent, "name": run.parent_names.get(parent)} for parent in run.parents]
    return values | {"spec": dict(run.spec), "parents": parents}


def _read_run(value: object, where: str) -> BundledRun:
    value = {"evaluation": None, **value} if isinstance(value, dict) else value  # bundles of 0.1.0 do not have it
    values = _require_values(value, _RUN, where)
    parents = [_require_values(parent, _PARENT, f"{where}, parents") for parent in values["parents"]]
    times = {name: values[name] and datetime.fromisoformat(values[name]) for name in _TIMES}
    times |= {name: times[name] and local_of(times[name]) for name in _TIMES_OF_WORKERS}
    names = {parent["id"]: parent["name"] for parent in parents if parent["name"] is not None}
    return BundledRun(**{**values, **times, "parents": tuple(parent["id"] for parent in parents), "parent_names": names})


def _is_name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _MOST_NAME and value.strip() != "" and not _CONTROL.search(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _MOST_TEXT


def _is_time(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is None
    except ValueError:
        return False


def _is_evaluation(value: object) -> bool:
    """Whether a value is what `core.types.RunRecord.evaluation` may hold."""
    if value is None:
        return True
    if not isinstance(value, dict) or set(value) != {"protocols", "cuts"} or not all(isinstance(v, list) for v in value.values()):
        return False
    protocols = all(
        isinstance(each, dict)
        and set(each) == {"kind", "k", "seed"}
        and each["kind"] in ("test", "loo", "folds")
        and _is_count(each["k"], _MOST_ROWS)
        and _is_count(each["seed"], _MOST_ROWS)
        for each in value["protocols"]
    )
    return (
        protocols
        and all(
            isinstance(cut, list) and len(cut) == 2 and all(is_finite_number(x) and 0 <= x <= 1 for x in cut)
            for cut in value["cuts"][: _MOST_CUTS + 1]
        )
        and len(value["cuts"]) <= _MOST_CUTS
    )


def _is_count(value: object, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def _matches(pattern: re.Pattern[str]) -> tuple[Callable[[Any], bool], str]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None, f"as in {pattern.pattern}"


def _or_none(rule: tuple[Callable[[Any], bool], str]) -> tuple[Callable[[Any], bool], str]:
    return lambda value: value is None or rule[0](value), f"{rule[1]}, or null"


_NAME = (_is_name, f"a line of 1 to {_MOST_NAME:,} characters")
_TEXT = (_is_text, f"a text of at most {_MOST_TEXT:,} characters")
_ROWS = (lambda value: _is_count(value, _MOST_ROWS), "a whole number, 0 or more")
_TOKENS = _or_none((lambda value: _is_count(value, _MOST_TOKENS), "a whole number, 0 or more"))
_TIME = _or_none((_is_time, "a time without a zone"))
_PARENT = {"id": _matches(_RUN_ID), "name": _or_none(_NAME)}
_RUN: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "id": _matches(_RUN_ID),
    **dict.fromkeys(("name", "method", "origin", "code_version"), _NAME),
    "track": (lambda value: value is None or value in get_args(Track), "A, B, C or null"),
    "model": _or_none(_NAME),
    "spec": (lambda value: isinstance(value, dict), "an object"),
    "evaluation": (_is_evaluation, f"null, or protocols with k and seed and at most {_MOST_CUTS} pairs of scores"),
    "parents": (lambda value: isinstance(value, list), "a list"),
    "status": (lambda value: value in ENDED, ", ".join(ENDED)),
    "cause": _TEXT,
    **dict.fromkeys(("total", "done", "failed", "fallbacks", "collapsed", "tokens_unknown"), _ROWS),
    **dict.fromkeys(("tokens", "spent_tokens", "expected_calls"), _TOKENS),
    "public_score": (lambda value: value is None or (is_finite_number(value) and 0 <= value <= 1), "0 to 1, or null"),
    "note": _or_none(_TEXT),
    **dict.fromkeys(_TIMES, _TIME),
}
_DATASET: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "name": _NAME,
    "kind": (lambda value: value in get_args(DatasetKind), "ternary, de or dir"),
    "organism": _TEXT,
    "context": _TEXT,
    "rows": _ROWS,
    "sha256": _matches(_SHA256),
}
