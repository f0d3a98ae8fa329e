"""Backups: the whole workspace as one tar, also while runs write, and a workspace made from such a
file.

Caches, locks, the workspace's log, downloads and secrets stay out. The last member lists the
SHA-256 of all others, as `sha256sum` writes and checks it: a tar that has it is whole.
"""

from __future__ import annotations

import io
import itertools
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from core.base.config import Settings
from core.base.errors import InputError, StateError, StoreBusy, UnsafeFile
from core.base.file_io import (
    part_of,
    refuse_special,
    remove_folder,
    replace_file,
    replacing,
)
from core.base.hashes import sha256_of_file, sha256_of_open
from core.base.log import LOGGER
from core.base.system_errors import explain
from core.runs.jobs.folder import OF_PROCESS, JobFolder
from core.runs.jobs.state import status_of
from core.runs.workspace import Workspace
from core.store import open_store, runs

# beside the store
FOLDERS = ("knowledge", "embeddings", "prompts", "cells", "targets", "comparisons")
STORE = Settings().store_file.name
LOG = f"{STORE}.wal"
SUMS, DONE = "SHA256SUMS", "done.json"
# Of a run's folder: what a worker may change comes in this order, done.json apart (see `_add_run`).
OF_RUN = ("spec.json", "how.json", "evaluation.json", "rows.jsonl", "spending.jsonl", "log.txt")
_OF_LOCK = (".lock", ".holder")  # beside the store, made again
# While a restore moves things into place: the SHA-256 of its backup, and what it moves.
_UNFINISHED = "restore.unfinished"


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup's file. runs: how many are in it."""

    path: Path
    sha256: str
    runs: int


def back_up(workspace: Workspace, out: Path, *, replace: bool = False) -> Backup:
    """Write the whole workspace to a file, also while runs write and in read-only mode.

    Raise StateError if something lies at `out`, unless it is a file and `replace`; StoreBusy;
    SystemFailure.
    """
    if out.exists() and not (replace and out.is_file()):
        raise StateError(
            f"{out}: exists; choose another name{', or use --replace' * out.is_file()}"
        )
    store, data, sums = workspace.store, workspace.settings.data, dict[str, str]()
    try:
        with replacing(out, durable=True) as file, tarfile.open(fileobj=file, mode="w:") as tar:
            # The store first, then the journals. A worker writes a row to its journal before the
            # store counts it (`folded_bytes`), so a journal copied later has all that the store
            # counts. What it has beyond that is ingested when the run is settled, and a torn last
            # line is cut off. The other way round the store could count rows that the journal
            # lacks: they were lost.
            with store.read() as db:  # under the gate: others may read meanwhile, none may write
                before, known = store.state(), sorted(runs.statuses(db))
                for path in _files_under_gate(data):
                    with path.open("rb") as opened:
                        _add(tar, sums, f"data/{path.relative_to(data)}", opened)
                if store.state() != before:
                    raise StoreBusy(
                        f"{store.file}: another program changed it meanwhile; close it there and"
                        " try again"
                    )
            for run in known:
                _add_run(tar, sums, workspace.run_folder(run).path, out.parent)
            lines = "".join(f"{sha256}  {name}\n" for name, sha256 in sums.items())
            _add(tar, {}, SUMS, io.BytesIO(lines.encode()))
        sha256 = sha256_of_file(out)
    except OSError as error:
        raise explain(error, error.filename or out) from error
    LOGGER.info("backup %s, %s", out, sha256)
    return Backup(out, sha256, len(known))


def _add(tar: tarfile.TarFile, sums: dict[str, str], name: str, file: IO[bytes]) -> None:
    """Add a file that nobody changes meanwhile."""
    sums[name] = sha256_of_open(file)
    member = tarfile.TarInfo(name)
    member.size, member.mode = file.seek(0, io.SEEK_END), 0o600
    file.seek(0)
    tar.addfile(member, file)


def _files_under_gate(data: Path) -> Iterator[Path]:
    """Yield the store, its log (which has what a killed writer committed), and what is whole in
    `FOLDERS`."""
    yield from (path for path in (data / STORE, data / LOG) if path.exists())
    for folder in FOLDERS:
        for path in sorted((data / folder).rglob("*")):
            parts = path.relative_to(data).parts
            is_part = any(part.startswith(".") and part.endswith(".part") for part in parts)
            if (
                path.is_file()
                and not is_part
                and (folder != "targets" or _is_of_trained(data, parts))
            ):
                yield path


def _is_of_trained(data: Path, parts: tuple[str, ...]) -> bool:
    """Return whether a path in data/targets belongs to a finished target ranking and not to its
    process."""
    training = status_of(JobFolder(data / parts[0] / parts[1]))
    return training.state == "done" and parts[-1] not in OF_PROCESS


def _add_run(tar: tarfile.TarFile, sums: dict[str, str], folder: Path, scratch: Path) -> None:
    """Add the folder of a run, unless none was made here or the run was deleted meanwhile.

    The spending log comes after the journal, so that no row is missing from what was spent. A run
    that ends meanwhile is copied without done.json: its journal may lack the last rows, and it can
    be resumed.
    """
    ending = _read(folder / DONE)
    for path in (folder / name for name in OF_RUN):
        # A tar has the size before the bytes, and a worker may write meanwhile: from a copy.
        with tempfile.TemporaryFile(dir=scratch) as copy:
            try:
                with path.open("rb") as file:
                    shutil.copyfileobj(file, copy)
            except FileNotFoundError:
                continue
            _add(tar, sums, f"data/runs/{folder.name}/{path.name}", copy)
    if ending is not None and _read(folder / DONE) == ending:
        _add(tar, sums, f"data/runs/{folder.name}/{DONE}", io.BytesIO(ending))


def _read(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def restore(workspace: Workspace, archive: Path) -> Backup:
    """Restore a backup into an empty workspace; its unfinished runs can be resumed.

    Raise StateError if the workspace is not empty, InputError or UnsafeFile for a file that is not
    a backup, damaged or unsafe, and StoreError for a store of another version: nothing is written
    then. One that was killed is given again.
    """
    workspace.refuse_if_read_only("restore", str(archive))
    data = workspace.settings.data
    record = data / _UNFINISHED
    try:
        sha256 = sha256_of_file(archive)
        killed = record.read_text("utf-8").splitlines() if record.is_file() else [""]
        # The store comes last: if it exists, the workspace is complete.
        if killed[0] != sha256 or not (data / STORE).exists():
            _remove_unfinished(data, killed[1:])
            _refuse_used(workspace.settings)
            with part_of(data / "restore", is_folder=True) as staged:
                _unpack(archive, staged)
                with open_store(Settings(workspace=staged)).read() as db:
                    runs.statuses(db)  # refuses a store of another version
                _refuse_used(workspace.settings)
                unpacked = [
                    path for path in (staged / "data").iterdir() if path.suffix not in _OF_LOCK
                ]
                names = sorted((path.name for path in unpacked), key=lambda name: name == STORE)
                replace_file(record, "\n".join([sha256, *names]).encode())
                for name in names:
                    (staged / "data" / name).rename(data / name)
        with workspace.change("restore", archive.name) as (db, detail):
            restored = Backup(archive, sha256, len(runs.statuses(db)))
            detail |= {"sha256": sha256, "runs": restored.runs}
        record.unlink()
    except OSError as error:
        raise explain(error, error.filename or data) from error
    return restored


def _remove_unfinished(data: Path, names: Sequence[str]) -> None:
    """Remove what a restore moved into place that was killed before it moved the store."""
    for place in () if (data / STORE).exists() else (data / name for name in names):
        if place.exists():
            remove_folder(place) if place.is_dir() else place.unlink()


def _refuse_used(settings: Settings) -> None:
    """Raise StateError if the workspace holds anything that a backup would bring."""
    of_store = (path for path in settings.data.glob(f"{STORE}*") if path.suffix not in _OF_LOCK)
    within = (path for name in ("runs", *FOLDERS) for path in (settings.data / name).glob("*"))
    for path in itertools.chain(of_store, within):
        place = path.relative_to(settings.workspace)
        raise StateError(f"{settings.workspace}: contains {place}, expected an empty workspace")


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack a backup into a new folder. Raise InputError or UnsafeFile."""
    refuse_special(archive)
    found, listed = dict[str, str](), ""
    try:
        with tarfile.open(archive, "r:") as tar:
            for member in tar:
                content = (
                    tar.extractfile(member) if member.isreg() and not member.issparse() else None
                )
                if content is None or member.name in found or not _belongs(member.name):
                    raise UnsafeFile(
                        f"{archive}: member {member.name[:80]!r} is no file of a backup; nothing"
                        " was restored"
                    )
                place = folder / member.name
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("x+b") as out:
                    shutil.copyfileobj(content, out)
                    found[member.name] = sha256_of_open(out)
                    os.fsync(out.fileno())
        listed = (folder / SUMS).read_text("utf-8") if found.pop(SUMS, None) else ""
    except (tarfile.TarError, UnicodeDecodeError) as error:
        raise InputError(
            f"{archive}: no backup of a workspace, or a damaged one ({error})"
        ) from error
    expected = {
        name: sha256 for sha256, _, name in (line.partition("  ") for line in listed.splitlines())
    }
    if found != expected or f"data/{STORE}" not in found:
        raise InputError(
            f"{archive}: a damaged backup, its files are not those in its {SUMS}; nothing was"
            " restored"
        )


def _belongs(name: str) -> bool:
    """Return whether a member's name is one that `back_up` writes."""
    path = PurePosixPath(name)
    if str(path) != name or ".." in path.parts or not name.isprintable():
        return False
    match path.parts:
        case ("data", "runs", _, file):
            return file in (*OF_RUN, DONE)
        case ("data", folder, *rest) if rest:
            return folder in FOLDERS
    return name in (SUMS, f"data/{STORE}", f"data/{LOG}")
