"""The file of a backup: a zip of plain files of any size, and behind them a manifest with the SHA-256 of each.

The manifest is written last, and the zip under another name until it is whole: a file that can be read is a whole backup.
No file is held in memory.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import IO, Any, Self

from core.compressed import DAMAGE
from core.datasets.archives import refuse_unsafe_member
from core.datasets.tables import quote
from core.errors import InputError, UnknownFormat, UnsafeFile
from core.file_io import part_of, refuse_special, remove_parts, sync_folder
from core.hashes import copy_hashed
from core.texts import parse_json

FORMAT, VERSION = "perturbdesk-backup", 1
MANIFEST = "manifest.json"
_MOST_MANIFEST_BYTES = 1 << 28


class BackupWriter:
    """A backup that is being written; the file has its name when the block ends, and is gone if it raises. Raises OSError."""

    def __init__(self, out: Path) -> None:
        self._out = out
        remove_parts(out.parent)
        self._writing = part_of(out)
        self._part = self._writing.__enter__()
        self._zip = zipfile.ZipFile(self._part, "w")
        self._files: dict[str, dict[str, Any]] = {}
        self.heads: Mapping[str, Any] = {}  # of the store's chains, for the manifest

    def __enter__(self) -> Self:
        return self

    def add(self, name: str, file: IO[bytes], *, most_bytes: int | None = None, compress: bool = False) -> None:
        """Add a file under a path inside the archive, read from where it stands. most_bytes: read no further."""
        info = zipfile.ZipInfo(name)
        info.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
        info.external_attr = 0o100600 << 16
        with self._zip.open(info, "w", force_zip64=True) as member:
            sha256, n = copy_hashed(file, member, most_bytes)
        self._files[name] = {"sha256": sha256, "bytes": n}

    def __exit__(self, kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        try:
            if kind is None:
                manifest = {"format": FORMAT, "version": VERSION, "heads": self.heads, "files": self._files}
                self._zip.writestr(MANIFEST, json.dumps(manifest, indent=1))
            self._zip.close()
            if kind is None:
                with self._part.open("rb") as written:
                    os.fsync(written.fileno())
                self._part.replace(self._out)
                sync_folder(self._out.parent)
        except OSError as error:
            error.filename = str(self._out)  # the name that a person knows
            raise
        finally:
            self._writing.__exit__(None, None, None)


def unpack_backup(archive: Path, folder: Path, belongs: Callable[[PurePosixPath], bool]) -> Mapping[str, Any]:
    """Unpack a backup into a new folder; return the heads that it states, which may be anything.

    belongs: whether a path is one of a backup. Raise UnsafeFile for members that are no plain files or lie elsewhere,
    UnknownFormat for another file, InputError for a damaged one, and OSError. What was unpacked by then stays in the folder.
    """
    refuse_special(archive)
    try:
        with zipfile.ZipFile(archive) as opened:
            members = opened.infolist()
            manifest = _read_manifest(opened, archive)
            expected = manifest["files"]
            _refuse_unexpected(members, expected, archive, belongs)
            needed, free = sum(member.file_size for member in members), shutil.disk_usage(folder.parent).free
            if needed > free:
                raise InputError(f"{archive}: unpacks to {needed:,} bytes, {free:,} are free in {folder.parent}")
            for member in members[:-1]:
                _unpack_member(opened, member, expected[member.filename], archive, folder)
    except DAMAGE as error:
        raise InputError(f"{archive}: a damaged backup ({error}); nothing was restored") from error
    heads = manifest.get("heads")
    return heads if isinstance(heads, dict) else {}


def _read_manifest(opened: zipfile.ZipFile, archive: Path) -> dict[str, Any]:
    """Return the manifest, whose "files" are path → SHA-256 and bytes.

    Raise UnknownFormat if the last member is no manifest of this version.
    """
    members = opened.infolist()
    if not members or members[-1].filename != MANIFEST or members[-1].file_size > _MOST_MANIFEST_BYTES:
        raise UnknownFormat(f"{archive}: no backup of a workspace, expected a zip that ends with {MANIFEST}")
    manifest = parse_json(opened.read(members[-1]))
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise UnknownFormat(f"{archive}: no backup of a workspace, expected the format {FORMAT}")
    if manifest.get("version") != VERSION:
        raise UnknownFormat(f"{archive}: a backup of version {manifest.get('version')}, expected {VERSION}; update PerturbDesk")
    files = manifest.get("files")
    if not isinstance(files, dict) or not all(isinstance(about, dict) for about in files.values()):
        raise InputError(f"{archive}: a damaged backup (its manifest lists no files); nothing was restored")
    return manifest


def _refuse_unexpected(
    members: list[zipfile.ZipInfo], expected: dict[str, Any], archive: Path, belongs: Callable[[PurePosixPath], bool]
) -> None:
    """Raise UnsafeFile or InputError unless the members are the manifest's files, each once, and belong into a backup."""
    for member in members:
        refuse_unsafe_member(member, str(archive))
    for member in members[:-1]:
        path = PurePosixPath(member.filename)
        if member.is_dir() or "\\" in member.filename or str(path) != member.filename or not belongs(path):
            raise UnsafeFile(f"{archive}: member {quote(member.filename)} is no file of a backup")
    names = [member.filename for member in members[:-1]]
    if sorted(names) != sorted(expected):
        different = sorted({*names} ^ {*expected}) or sorted({name for name in names if names.count(name) > 1})
        raise InputError(
            f"{archive}: a damaged backup ({quote(different[0])} is in its list or among its files, not in both once); "
            "nothing was restored"
        )


def _unpack_member(
    opened: zipfile.ZipFile, member: zipfile.ZipInfo, expected: dict[str, Any], archive: Path, folder: Path
) -> None:
    """Unpacks one file; zipfile reads no more of it than its header says. Raise InputError unless it is the manifest's."""
    place = folder / member.filename
    place.parent.mkdir(parents=True, exist_ok=True)
    with opened.open(member) as packed, place.open("xb") as out:
        sha256, n = copy_hashed(packed, out)
        out.flush()
        os.fsync(out.fileno())
    if (sha256, n) != (expected.get("sha256"), expected.get("bytes")):
        raise InputError(f"{archive}: a damaged backup ({quote(member.filename)} has another SHA-256 than its list says)")
