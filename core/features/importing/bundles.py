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
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated, Any, Literal, TypeVar

from annotated_types import Ge, Le, MaxLen, Predicate

from core import __version__
from core.base.archives import Content, is_zip, open_archive, open_members, pack_into
from core.base.environment import Remover, change_texts
from core.base.errors import InputError
from core.base.file_io import UnnamedFile
from core.base.file_limits import MAX_UNPACKED_BYTES
from core.base.hashes import sha256_of_open
from core.base.records import Misfit, fit, to_json
from core.base.row_schema import VERSION, field_names, local_of, utc_of
from core.base.texts import quote
from core.base.types import FALLBACKS, READING_METHODS, RunRecord, Track
from core.features.importing.bundle_parts import (
    IN_TIMES,
    SCHEMAS,
    TIMES,
    PartFile,
    Parts,
    check,
    count_rows,
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
_MOST_NAME = 1_000  # characters of a name
_MOST_TEXT = 1_000_000  # of a remark or a cause
_MOST_CUTS = 100  # of a run's evaluation
R = TypeVar("R")


def _is_line(text: str) -> bool:
    return len(text) <= _MOST_NAME and text.strip() != "" and not _CONTROL.search(text)


def _is_time(text: str) -> bool:
    try:
        time = datetime.fromisoformat(text)
        return time.tzinfo is None and TIMES[0] <= time < TIMES[1]
    except ValueError:
        return False


Line = Annotated[str, Predicate(_is_line), f"a line of 1 to {_MOST_NAME:,} characters"]
Prose = Annotated[str, MaxLen(_MOST_TEXT), f"a text of at most {_MOST_TEXT:,} characters"]
Rows = Annotated[int, Ge(0), Le(2**31 - 1), "a whole number, 0 or more"]
Tokens = Annotated[int, Ge(0), Le(2**63 - 1), "a whole number, 0 or more"]
Share = Annotated[float, Ge(0), Le(1), "0 to 1"]
Time = Annotated[str, Predicate(_is_time), f"{IN_TIMES}, without a zone"]
RunId = Annotated[str, Predicate(re.compile("[0-9a-f]{10}").fullmatch), "10 hexadecimal digits"]


@dataclass(frozen=True, slots=True)
class Parent:
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
class BundledRun:
    """A run's record as a manifest holds it: `core.base.types.RunRecord`, with the names of its
    parents as far as they are known, and the times of its workers in UTC."""

    id: RunId
    name: Line
    method: Line
    origin: Line
    code_version: Line
    track: Track | None
    model: Line | None
    spec: Mapping[str, Any]
    evaluation: _Evaluation | None
    parents: tuple[Parent, ...]
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

    def record(self) -> dict[str, Any]:
        """Return the fields of `RunRecord`. A kNN of version 0.2 wrote 0 for the settings that it
        lacks, which are None here."""
        options = self.spec.get("options")
        if self.method == "knn" and isinstance(options, Mapping):
            lacks = {name: None for name in ("k", "de_power") if options.get(name) == 0}
            spec = {**self.spec, "options": {**options, **lacks}}
        else:
            spec = dict(self.spec)
        times = {
            name: text and datetime.fromisoformat(text)
            for name in _TIMES
            for text in [getattr(self, name)]
        }
        times |= {name: times[name] and local_of(times[name]) for name in _TIMES_OF_WORKERS}
        parents = tuple(parent.id for parent in self.parents)
        return to_json(self) | {"spec": spec, "parents": parents, **times}


def bundled_run(run: RunRecord, names: Mapping[str, str], clean: Remover) -> BundledRun:
    """Return a run as a bundle holds it. names: of its parents, by id. clean: removes from its
    specification and its cause what means something on this machine alone."""
    values = {name: getattr(run, name) for name in field_names(RunRecord)}
    values |= {name: values[name] and utc_of(values[name]) for name in _TIMES_OF_WORKERS}
    values |= {name: values[name] and values[name].isoformat() for name in _TIMES}
    parents = [{"id": parent, "name": names.get(parent)} for parent in run.parents]
    spec = change_texts(run.spec, clean)
    values |= {"parents": parents, "spec": spec, "cause": clean(run.cause)}
    return _fit(BundledRun, values, f"run {run.name}")


@dataclass(frozen=True, slots=True)
class BundledDataset:
    """The dataset that a bundled run is on. sha256: `pairs.pairs_sha256` of its rows."""

    name: Line
    kind: Literal["ternary"]
    organism: Prose
    context: Prose
    rows: Rows
    sha256: Annotated[str, Predicate(re.compile("[0-9a-f]{64}").fullmatch), "64 hexadecimal digits"]


@dataclass(frozen=True, slots=True)
class _PartFacts:
    """sha256: of a part's file."""

    sha256: str
    rows: int


@dataclass(frozen=True, slots=True)
class _Manifest:
    written_by: str
    run: BundledRun
    dataset: BundledDataset
    parts: Mapping[str, _PartFacts]


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """A run, its dataset, and the file of each part (see `bundle_parts.SCHEMAS`)."""

    run: BundledRun
    dataset: BundledDataset
    parts: Parts


def write_bundle_into(out: IO[bytes], bundle: Bundle) -> None:
    """Write a bundle's file. Raise InputError if it is larger than `read_bundle` allows."""
    files = {part: bundle.parts[part].file for part in SCHEMAS}
    facts = {
        part: _PartFacts(sha256_of_open(file), bundle.parts[part].num_rows)
        for part, file in files.items()
    }
    values = {FORMAT: VERSION, **to_json(_Manifest(__version__, bundle.run, bundle.dataset, facts))}
    values["run"]["spec"] = dict(bundle.run.spec)  # as it is: JSON has no NaN
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
    run, parts = manifest.run, dict[str, PartFile]()
    for part, file in _FILES.items():
        facts = manifest.parts[part]
        if sha256_of_open(files[file]) != facts.sha256:
            raise InputError(
                f"{name}/{file}: its hash is not the one in {MANIFEST}; expected a file that nobody"
                " changed"
            )
        parts[part] = PartFile(files[file], part, f"{name}/{file}")
        if parts[part].num_rows != facts.rows:
            raise InputError(
                f"{name}/{file}: {parts[part].num_rows:,} rows, expected {facts.rows:,}"
            )
    check(parts, name)
    for what, number in count_rows(parts["prediction"], FALLBACKS).items():
        if getattr(run, what) != number:
            raise InputError(
                f"{where}: run.{what} is {getattr(run, what)}, but its rows say {number}"
            )
    # of the rows that did not fail
    sources = set(parts["prediction"]["p_source"].drop_null().unique().to_pylist())
    if sources and (sources == {"none"}) != (run.method in READING_METHODS):
        raise InputError(
            f"{where}: run.method is {quote(run.method)}, but p_source is"
            f" {', '.join(sorted(sources))}; expected none of a reading, and of it alone"
        )
    if run.total < run.done + run.failed:
        raise InputError(
            f"{where}: run.total is {run.total:,}, but {run.done + run.failed:,} rows are there"
        )
    return Bundle(run, manifest.dataset, parts)


def _copy(stream: io.RawIOBase) -> IO[bytes]:
    """Return a file of its own with what is left of a stream, from its beginning."""
    file = UnnamedFile()
    while chunk := stream.read(_CHUNK_BYTES):
        file.write(chunk)
    file.seek(0)
    return file


def _read_manifest(data: bytes, where: str) -> _Manifest:
    if len(data) > MOST_MANIFEST_BYTES:
        raise InputError(f"{where}: {len(data):,} bytes, expected at most {MOST_MANIFEST_BYTES:,}")
    text = data.decode("utf-8", "replace")
    values = json.loads(text) if is_json_object(text) else {}
    version = values.pop(FORMAT, None)
    if type(version) is not int:
        raise InputError(f"{where}: {quote(text)}, expected a JSON object with {FORMAT}")
    if version != VERSION:
        raise InputError(
            f"{where}: format {version}, this version reads {VERSION}; update PerturbDesk to"
            " import it"
        )
    manifest = _fit(_Manifest, values, where)
    if {*manifest.parts} != {*SCHEMAS}:
        raise InputError(f"{where}: parts holds others than {', '.join(SCHEMAS)}")
    return manifest


def _fit(kind: type[R], value: object, where: str) -> R:
    try:
        return fit(kind, value)
    except Misfit as error:
        raise InputError(f"{where}: {error}") from error
