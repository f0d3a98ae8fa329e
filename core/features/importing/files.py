"""What a file is, by its content: a table of rows, a run's bundle, a knowledge pack or a gene
space."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from core.base.archives import Content, open_content, plain_file
from core.base.errors import InputError, MissingPackage, UnknownFormat, UnsafeFile
from core.base.file_io import read_file, read_head, temporary_folder
from core.base.file_limits import MAX_UNPACKED_BYTES
from core.base.hashes import sha256_of
from core.base.system_errors import explain, in_words
from core.base.tables import first_character
from core.base.texts import is_encodable, shorten
from core.base.types import Rejected
from core.evidence.knowledge_packs import Pack, read_knowledge, read_knowledge_path
from core.features import hooks
from core.features.importing.gene_set_files import kind_of_gene_sets, read_gene_sets
from core.features.importing.other_formats import is_zarr, refuse_other_format, refuse_other_json
from core.features.importing.reader import AnyTable, read_path
from core.features.importing.roles import AS_GUESSED, TableOptions

if TYPE_CHECKING:
    from core.embeddings.space import Space
    from core.features.importing.bundles import Bundle

MOST_FILES = 10_000  # in folders that are not meant to be read whole
_SAY_RECURSIVE = "--recursive imports all of it"
_CHUNK_BYTES = 1 << 20
_HEAD_BYTES = 1 << 16  # that tell what a file is
_FIRST_LINE = 1 << 12  # bytes that are searched for names of columns
_PICKLE = b"\x80"


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


FileContent = AnyTable | BundleFile | PackFile | SpaceFile


class FoundFile(NamedTuple):
    """A file to import. chosen: whether a person named it. problem: why it cannot be opened, else
    ""."""

    path: Path
    chosen: bool
    problem: str = ""


def expand(paths: list[Path], *, recursive: bool = False) -> list[FoundFile]:
    """Return every file, all files below a folder, and each checkpoint's folder.

    Links that lead nowhere, back to a folder above them or to one that was looked into before, and
    folders that cannot be opened, with their problem. Raise InputError for a path that is not
    there, and unless `recursive` for a folder that people import by mistake: the home folder, one
    above it, or one with too many files.
    """
    for path in paths:
        try:
            is_here = "\0" not in str(path) and path.exists()
        except OSError as error:
            raise InputError(str(explain(error, str(path)[:300]))) from error
        if not is_here:
            raise InputError(f"{str(path)[:300]}: no such file or folder")
        home, place = Path.home().resolve(), path.resolve()
        if not recursive and place.is_dir() and place in (home, *home.parents):
            raise InputError(
                f"{path}: {place} is the home folder, or contains it, expected a folder of files to"
                f" import; {_SAY_RECURSIVE}"
            )
    found: list[FoundFile] = []
    seen: set[tuple[int, int]] = set()
    to_look_at = [(path, True, frozenset[tuple[int, int]]()) for path in reversed(paths)]
    while to_look_at:  # a list, since folders may be nested deeper than calls
        if not recursive and len(found) + len(to_look_at) > MOST_FILES:
            raise InputError(
                f"{shorten(', '.join(map(str, paths)), 300)}: more than {MOST_FILES:,} files,"
                f" expected fewer; {_SAY_RECURSIVE}"
            )
        path, chosen, above = to_look_at.pop()
        problem = "" if is_encodable(str(path)) else "its name is not UTF-8; rename it"
        try:
            if problem or not path.is_dir() or _is_one(path):
                if not problem and path.is_symlink() and not path.exists():
                    problem = f"a link to {os.readlink(path)!r}, which does not exist"
                found.append(FoundFile(path, chosen, problem))
                continue
            status = path.stat()
            here = (status.st_dev, status.st_ino)
            if here in above:
                found.append(FoundFile(path, chosen, "a link to a folder above it"))
                continue
            if here in seen and path.is_symlink():
                found.append(FoundFile(path, chosen, "a link to a folder that is read already"))
                continue
            seen.add(here)
            inside = sorted((p for p in path.iterdir() if not p.name.startswith(".")), reverse=True)
        except OSError as error:
            found.append(FoundFile(path, chosen, str(explain(error))))
            continue
        to_look_at += [(each, False, above | {here}) for each in inside]
    return found


def _is_one(folder: Path) -> bool:
    """Return whether a folder is read as a whole."""
    from core.features.importing.spaces.load import is_checkpoint

    return is_checkpoint(folder) or is_zarr(folder)


def recognise(path: Path, options: TableOptions = AS_GUESSED) -> FileContent:
    """Return the content of a file or of a checkpoint's folder. options: of
    a table.

    Raise UnknownFormat, UnsafeFile or InputError.
    """
    try:
        if path.is_dir():
            refuse_other_format(path, str(path))
            return _load_space(path, path.name)
        return _recognise_file(path, path.name, options)
    except OSError as error:  # of a file that was readable at first
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def recognise_upload(
    content: Content, name: str, options: TableOptions = AS_GUESSED
) -> FileContent:
    """As `recognise`, from bytes or from a file that is open."""
    with saved_upload(content, name) as path:
        return _recognise_file(path, name, options)


@contextmanager
def saved_upload(content: Content, name: str) -> Iterator[Path]:
    """Give the path of a file with this content and name during the block."""
    with in_words(tempfile.gettempdir()), temporary_folder("upload") as folder:
        path = folder / Path(name).name
        with path.open("wb") as out:
            shutil.copyfileobj(open_content(content), out, _CHUNK_BYTES)
        yield path


def _recognise_file(path: Path, name: str, options: TableOptions) -> FileContent:
    for find_table in hooks("file_kinds"):
        if (rows := find_table(path)) is not None:
            with temporary_folder("table") as folder:
                rows.to_csv(folder / "table.csv", index=False)
                return read_path(folder / "table.csv", name, options, spooled=True)
    refuse_other_format(path, name)
    with plain_file(path, name) as (plain, bare):
        kind = kind_of_gene_sets(read_head(plain, _HEAD_BYTES), name)
        if kind is None:
            return _recognise_plain(plain, bare, options)
    content = read_gene_sets(path, name, kind)
    pack = read_knowledge(content, name)
    return PackFile(pack, content, pack.kind, pack.sha256)


def _recognise_plain(path: Path, name: str, options: TableOptions) -> FileContent:
    """Return the content of an uncompressed file."""
    head = read_head(path, _HEAD_BYTES)
    # of nothing else that is read
    if head.startswith(_PICKLE) or path.suffix in (".pkl", ".pickle"):
        return _load_space(path, Path(name).stem)
    if first_character(head) in (b"{", b"["):
        try:
            return read_path(path, name, options, spooled=True)
        except UnknownFormat:
            pass  # what was parsed has to go before it is parsed as something else
        refuse_other_json(read_file(path, MAX_UNPACKED_BYTES), name)
        pack = read_knowledge_path(path, name)
        return PackFile(pack, path.read_bytes(), pack.kind, pack.sha256)
    if head.startswith(b"PK"):
        from core.features.importing.bundles import is_bundle, read_bundle

        if is_bundle(path):
            content = read_file(path, MAX_UNPACKED_BYTES)
            return BundleFile(read_bundle(content, name), sha256_of(content))
    try:
        return read_path(path, name, options, spooled=True)
    except UnsafeFile:
        raise
    except InputError as no_table:
        # rows of pairs of which a column is odd, or a log of which a member is
        if path.suffix in (".parquet", ".eval") and not isinstance(no_table, UnknownFormat):
            raise
        try:
            return _load_space(path, Path(name).stem, named=True)
        except (UnsafeFile, MissingPackage):
            raise
        except InputError as no_space:
            words = {*re.findall(rb"\w+", head[:_FIRST_LINE].partition(b"\n")[0].lower())}
            names_pairs = {b"pert", b"gene"} <= words
            if isinstance(no_space, UnknownFormat) or path.suffix == ".zip" or names_pairs:
                from core.features.importing.spaces.load import FORMATS

                raise type(no_table)(f"{no_table}; or a gene space ({FORMATS})") from no_space
            raise


def _load_space(path: Path, name: str, *, named: bool = False) -> SpaceFile:
    from core.features.importing.spaces.load import load_space

    return SpaceFile(load_space(path, name, named=named))
