"""Backups: the whole workspace as one file, also while runs write, and a workspace made from such a file.

What goes in, and why in this order. The store comes first, under its lock, with the packs, gene spaces, files of prompts and
tables of screens, which change under that lock alone, as do the target rankings whose training is done; one that is in training
stays out. Then, without the lock, the folder of each run that the store knows: a
journal only grows, and a row is in the store only after its line is in the journal, so that a journal copied after the store
has every byte that the store counts as ingested (`folded_bytes`); what it has beyond that is ingested when the run is settled,
and a torn last line is cut off. The other way round, the store could count rows whose lines the copy lacks, and rows that are
then finished would never come in.
Of a run's folder, how the run ended (`done.json`) counts only if it was the same before and after its journal was copied: a run
that ends meanwhile is copied as one that was interrupted, and can be resumed. Its spending log is copied after the journal, so
that no row in it is missing from what was spent.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

from core.actions.workspace import Workspace
from core.config import Settings
from core.datasets.backup_archive import BackupWriter, unpack_backup
from core.engine.run_folder import RunFolder
from core.errors import StateError, StoreDamaged
from core.file_io import part_of
from core.hashes import sha256_of_file
from core.jobs.folder import OF_PROCESS
from core.log import LOGGER
from core.store import chain, open_store, rebuild, runs
from core.store.chain import Head
from core.system_errors import explain
from core.target_ranking.results import RankingFolder

FOLDERS = ("knowledge", "embeddings", "prompts", "cells", "targets", "comparisons")  # beside the store in data/, and as precious
_DATA, _RUNS = "data", "runs"
# Of a run's folder: what a worker may change comes in this order, `done.json` apart.
_OF_RUNS = ("spec.json", "how.json", "evaluation.json", "rows.jsonl", "spending.jsonl", "log.txt")
_ENDING = "done.json"
_BESIDE_STORE = (".lock", ".holder")  # of the store's name: what is made again


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup's file. runs: the number of its runs. heads: of its ledger and audit log.

    left_out: objects in its store besides the tables of PerturbDesk, which are not restored. problems: faults in its chains.
    """

    path: Path
    sha256: str
    runs: int
    heads: Mapping[str, Head]
    left_out: Sequence[str] = ()
    problems: Sequence[str] = ()


def back_up(workspace: Workspace, out: Path, *, replace: bool = False) -> Backup:
    """Write the whole workspace to a file; caches, locks, the workspace's log, downloads and secrets stay out.

    Works while runs write, and in read-only mode. Raise StateError if something lies at `out`, unless it is a file and `replace`;
    StoreBusy and SystemFailure.
    """
    if out.exists() and not (replace and out.is_file()):
        raise StateError(f"{out}: exists; choose another name{', or use --replace' * out.is_file()}")
    settings = workspace.settings
    try:
        with BackupWriter(out) as backup:
            with rebuild.hold_files(workspace.store) as (db, files):
                for file in (*files, *_files_beside(settings)):
                    with file.open("rb") as opened:
                        backup.add(_name(settings, file), opened)
                known, heads = sorted(runs.statuses(db)), chain.heads(db)
                backup.heads = _as_stated(heads)
            for run in known:
                _add_run(backup, settings, workspace.run_folder(run))
        sha256 = sha256_of_file(out)
    except OSError as error:
        raise explain(error, error.filename or out) from error
    LOGGER.info("backup %s, %s", out, sha256)
    return Backup(out, sha256, len(known), heads)


def _as_stated(heads: Mapping[str, Head]) -> dict[str, Any]:
    return {name: asdict(head) for name, head in heads.items()}


def _files_beside(settings: Settings) -> Iterator[Path]:
    """Yield the files of packs, spaces, prompts, screens and target rankings; those that are being written have other names."""
    for folder in FOLDERS:
        for path in sorted((settings.data / folder).rglob("*")):
            parts = path.relative_to(settings.data).parts
            is_written = not any(part.startswith(".") and part.endswith(".part") for part in parts)
            if path.is_file() and is_written and (folder != "targets" or _is_of_trained(settings.data, parts)):
                yield path


def _is_of_trained(data: Path, parts: tuple[str, ...]) -> bool:
    """Return whether a path in data/targets belongs to a finished target ranking and not to its training process."""
    ranking = RankingFolder(data / parts[0] / parts[1])
    return ranking.is_complete and (ranking.path / _ENDING).is_file() and parts[-1] not in OF_PROCESS


def _name(settings: Settings, file: Path) -> str:
    """Return a file's path inside the archive."""
    return str(PurePosixPath(_DATA, *file.relative_to(settings.data).parts))


def _add_run(backup: BackupWriter, settings: Settings, folder: RunFolder) -> None:
    """Add the folder of a run, unless no worker of this workspace made it or it was deleted meanwhile."""
    if not folder.exists:
        return
    ending = _read(folder.done)
    for name in _OF_RUNS:
        path = folder.path / name
        try:
            with path.open("rb") as file:
                backup.add(_name(settings, path), file, most_bytes=os.fstat(file.fileno()).st_size, compress=True)
        except FileNotFoundError:
            continue
    if ending is not None and _read(folder.done) == ending:
        backup.add(_name(settings, folder.path / _ENDING), BytesIO(ending))


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None


def restore(workspace: Workspace, archive: Path) -> Backup:
    """Restore a backup into an empty workspace. Its unfinished runs can be resumed.

    Only the rows of our tables are copied from its store, into new tables. Raise StateError if the workspace is not empty,
    InputError for a file that is not a backup, damaged or unsafe, and StoreError if this version cannot read its store; then
    nothing is written.
    """
    workspace.refuse_if_read_only("restore", str(archive))
    data = workspace.settings.data
    try:
        _refuse_used(workspace.settings)
        with part_of(data / "restore", is_folder=True) as staged:
            sha256 = sha256_of_file(archive)
            stated = unpack_backup(archive, staged, _belongs)
            left_out = _rebuild_store(archive, Settings(workspace=staged), workspace.settings.store_memory_mb)
            restored, heads, problems = _look_through(Settings(workspace=staged), stated)
            _refuse_used(workspace.settings)
            _move_in(staged / _DATA, data)
    except OSError as error:
        raise explain(error, error.filename or data) from error
    with workspace.change("restore", archive.name) as (_, detail):
        detail |= {"sha256": sha256, "runs": restored}
        detail |= {name: value for name, value in (("left_out", left_out), ("problems", problems)) if value}
    return Backup(archive, sha256, restored, heads, left_out, problems)


def _belongs(path: PurePosixPath) -> bool:
    """Return whether a path inside an archive is one of those that `back_up` writes."""
    parts, store = path.parts, Settings().store_file.name
    if parts[:1] != (_DATA,) or not str(path).isprintable():
        return False
    match parts[1:]:
        case (name,):
            return name == store or name.startswith(f"{store}.wal")
        case ("runs", _, name):
            return name in (*_OF_RUNS, _ENDING)
        case (folder, *rest):
            return folder in FOLDERS and bool(rest)
    return False


def _refuse_used(settings: Settings) -> None:
    """Raise StateError if the workspace holds anything that a backup would bring."""
    store = settings.store_file
    of_store = (path for path in store.parent.glob(f"{store.name}*") if not path.name.startswith(_names_of_locks(store)))
    within = (path for name in (_RUNS, *FOLDERS) for path in (settings.data / name).glob("*"))
    found = next(itertools.chain(of_store, within), None)
    if found is not None:
        raise StateError(f"{settings.workspace}: contains {found.relative_to(settings.workspace)}, expected an empty workspace")


def _names_of_locks(store: Path) -> tuple[str, ...]:
    return tuple(f"{store.name}{suffix}" for suffix in _BESIDE_STORE)


def _rebuild_store(archive: Path, staged: Settings, memory_mb: int) -> list[str]:
    """Rebuild the unpacked store from the rows of its tables; return what was left out. Raise what `rebuild.rebuild` raises."""
    store = staged.store_file
    if not store.exists():
        raise StoreDamaged(f"{archive}: contains no store, expected {_DATA}/{store.name}; nothing was restored")
    uploaded = staged.workspace / "uploaded"
    uploaded.mkdir()
    for path in list(store.parent.glob(f"{store.name}*")):
        path.rename(uploaded / path.name)
    return rebuild.rebuild(uploaded / store.name, store, str(archive), archive.stat().st_size, memory_mb)


def _look_through(staged: Settings, stated: Mapping[str, Any]) -> tuple[int, Mapping[str, Head], list[str]]:
    """Return a store's number of runs, the heads of its chains, and faults in these. stated: the manifest's heads."""
    with open_store(staged).read() as db:
        heads, found = chain.heads(db), chain.verify(db)
        known = len(runs.statuses(db))
    problems = [each.sentence for each in found if not each.is_intact]
    as_stated = _as_stated(heads)
    other = [name for name in as_stated if name in stated and stated[name] != as_stated[name]]
    problems += [f"The head of the {name} in the backup's list differs from that in its store." for name in other]
    return known, heads, problems


def _move_in(source: Path, data: Path) -> None:
    """Move the unpacked files into place, the store last: if it exists, the workspace is complete."""
    store = Settings().store_file.name
    names = sorted(path.name for path in source.iterdir() if not path.name.startswith(_names_of_locks(source / store)))
    for name in sorted(names, key=lambda name: (name == store, name)):
        (source / name).rename(data / name)
