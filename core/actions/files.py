"""What a file is, by its content: a table of rows, a run's bundle, a knowledge pack or a gene space."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from core.datasets import PairTable, SubmissionTable, read, read_path
from core.datasets.archives import MAX_UNPACKED_BYTES
from core.datasets.bundles import Bundle, is_bundle, read_bundle
from core.datasets.knowledge_packs import Pack, read_knowledge, read_knowledge_path
from core.embeddings import FORMATS, Space, is_checkpoint, load_space
from core.errors import InputError, MissingPackage, UnknownFormat, UnsafeFile
from core.file_io import read_file
from core.types import Rejected


@dataclass(frozen=True, slots=True)
class PackFile:
    """A knowledge pack and its bytes."""

    pack: Pack
    content: bytes
    kind: str
    sha256: str
    rejected: ClassVar[tuple[Rejected, ...]] = ()


@dataclass(frozen=True, slots=True, eq=False)
class SpaceFile:
    """A gene space; its hash is of symbols and vectors, which are the same in every format."""

    kind: ClassVar[str] = "embedding"
    rejected: ClassVar[tuple[Rejected, ...]] = ()
    space: Space

    @property
    def sha256(self) -> str:
        return self.space.sha256


@dataclass(frozen=True, slots=True, eq=False)
class BundleFile:
    """A run's bundle; sha256: of its file."""

    kind: ClassVar[str] = "bundle"
    rejected: ClassVar[tuple[Rejected, ...]] = ()
    bundle: Bundle
    sha256: str


FileContent = PairTable | SubmissionTable | BundleFile | PackFile | SpaceFile


def expand(paths: list[Path]) -> list[tuple[Path, bool]]:
    """Returns (path, whether a person named it) of every file, of all files below a folder, and of each checkpoint's folder."""
    files: list[tuple[Path, bool]] = []
    for path in paths:
        if path.is_dir() and not is_checkpoint(path):
            inside = sorted(p for p in path.iterdir() if not p.name.startswith("."))
            files += [(p, False) for p, _ in expand(inside)]
        elif path.exists():
            files.append((path, True))
        else:
            raise InputError(f"{path}: no such file or folder")
    return files


def recognise(path: Path) -> FileContent:
    """Returns what a file or a checkpoint's folder holds. Raises UnknownFormat, UnsafeFile or InputError."""
    if path.is_dir():
        return SpaceFile(load_space(path, path.name))
    return _recognise_file(path, path.name, None)


def recognise_upload(content: bytes, name: str) -> FileContent:
    """As `recognise`, from bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(name).name
        path.write_bytes(content)
        return _recognise_file(path, name, content)


def _recognise_file(path: Path, name: str, content: bytes | None) -> FileContent:
    if _first_character(path) in (b"{", b"["):
        pack = read_knowledge_path(path) if content is None else read_knowledge(content, name)
        return PackFile(pack, path.read_bytes(), pack.kind, pack.sha256)
    if is_bundle(path):
        return _read_bundle_file(path, name)
    try:
        return read_path(path) if content is None else read(content, name)
    except UnsafeFile:
        raise
    except InputError as no_table:
        try:
            return SpaceFile(load_space(path, Path(name).stem, named=True))
        except (UnsafeFile, MissingPackage):
            raise
        except InputError as no_space:
            if isinstance(no_space, UnknownFormat) or path.suffix in (".csv", ".zip"):
                raise type(no_table)(f"{no_table}; or a gene space ({FORMATS})") from no_space
            raise


def _read_bundle_file(path: Path, name: str) -> BundleFile:
    content = read_file(path, MAX_UNPACKED_BYTES)
    return BundleFile(read_bundle(content, name), hashlib.sha256(content).hexdigest())


def _first_character(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip(b"\xef\xbb\xbf \r\n\t")[:1]
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
