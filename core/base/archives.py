"""Packed files, unpacked while they are read and no further than a file may unpack to: gzip, bzip2,
Zstandard, and zips with the CSV inside one. Files are packed to the same bytes each time."""

from __future__ import annotations

import io
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Final

import pyarrow as pa

from core.base.errors import InputError, UnsafeFile
from core.base.file_io import temporary_folder
from core.base.file_limits import MAX_RATIO, MAX_UNPACKED_BYTES, UNSUSPICIOUS_BYTES, refuse_bomb
from core.base.texts import quote

_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
_DRIVE = re.compile(r"[A-Za-z]:")
_ENCRYPTED = 0x1
_ZSTANDARD = 93
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTANDARD)
_DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip can hold
_PLAIN_FILE = 0o100644 << 16
_UNIX = 3
# a whole file: its bytes, or the file itself, open and read from any place
Content = bytes | io.BufferedIOBase


def open_content(content: Content) -> io.BufferedIOBase:
    """Return a file's content as an open file, at its beginning."""
    file = io.BytesIO(content) if isinstance(content, bytes) else content
    file.seek(0)
    return file


def is_zip(content: Content) -> bool:
    """Return whether `content` starts as a zip does."""
    return open_content(content).read(len(_MAGICS[0])) in _MAGICS


def open_csv(
    content: Content, name: str, max_bytes: int = MAX_UNPACKED_BYTES
) -> tuple[io.RawIOBase, str]:
    """Return the one CSV inside the zip `content` and its path there: `submission.csv` at any
    depth, else the only *.csv.

    The stream stops with UnsafeFile at `max_bytes` or at MAX_RATIO times the packed size, whatever
    the headers claim, and with InputError if the data are damaged. Raise UnsafeFile for absolute or
    parent paths, links, encrypted members or too much declared content, InputError if there is no
    such CSV, or more than one.
    """
    try:
        file = open_content(content)
        archive = open_archive(file, name)
        members = archive.infolist()
        _refuse_unsafe(members, name, _size_of(file), max_bytes)
        member = _find_csv(members, name)
        stream = _open_member(archive, member, file)
    except DAMAGE as error:
        raise InputError(f"{name}: damaged zip ({error})") from error
    return (
        BoundedStream(
            stream, f"{name}/{member.filename}", _most_bytes(member, _size_of(file), max_bytes)
        ),
        member.filename,
    )


def unpack(
    content: Content, name: str, wanted: Callable[[str], bool]
) -> tuple[tuple[str, ...], dict[str, bytes]]:
    """Return the paths of all files inside the zip `content`, and the bytes of those that are
    wanted (the last of a path).

    The limits and errors are those of `open_csv`, for each wanted member.
    """
    paths: list[str] = []

    def note(path: str) -> bool:
        paths.append(path)
        return wanted(path)

    found = dict(iterate_members(content, name, note))
    return tuple(paths), found


def iterate_members(
    content: Content, name: str, wanted: Callable[[str], bool]
) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the bytes of each file inside the zip `content` that is wanted, in its
    order; see `unpack`."""
    for path, stream in open_members(content, name, wanted):
        yield path, stream.readall() or b""


def open_members(
    content: Content, name: str, wanted: Callable[[str], bool], max_bytes: int = MAX_UNPACKED_BYTES
) -> Iterator[tuple[str, io.RawIOBase]]:
    """Yield the path of each file that is wanted and what its bytes are read from, until the next
    one; see `unpack`."""
    try:
        file = open_content(content)
        archive = open_archive(file, name)
        _refuse_unsafe(archive.infolist(), name, _size_of(file), max_bytes)
        for member in archive.infolist():
            if not member.filename.endswith("/") and wanted(member.filename):
                _refuse_unreadable(member, name)
                most = _most_bytes(member, _size_of(file), max_bytes)
                with BoundedStream(
                    _open_member(archive, member, file), f"{name}/{member.filename}", most
                ) as stream:
                    yield member.filename, stream
    except DAMAGE as error:
        raise InputError(f"{name}: damaged zip ({error})") from error


def _most_bytes(member: zipfile.ZipInfo, packed: int, max_bytes: int) -> int:
    """Return the most bytes that a member may unpack to: never more than its header states."""
    return min(max_bytes, MAX_RATIO * min(member.compress_size, packed), member.file_size)


def _size_of(file: io.BufferedIOBase) -> int:
    return file.seek(0, io.SEEK_END)


def _open_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, file: io.BufferedIOBase
) -> IO[bytes]:
    """Return the unpacked bytes of a member. Arrow reads Zstandard, which Inspect AI uses and
    zipfile does not support."""
    if member.compress_type != _ZSTANDARD:
        return archive.open(member)
    file.seek(member.header_offset)
    name_bytes, extra_bytes = struct.unpack_from("<HH", file.read(30), 26)
    file.seek(name_bytes + extra_bytes, io.SEEK_CUR)
    stream: IO[bytes] = pa.CompressedInputStream(
        pa.BufferReader(file.read(member.compress_size)), "zstd"
    )
    return stream


def pack(members: Mapping[str, bytes], plain: frozenset[str] = frozenset()) -> bytes:
    """Return a zip of these files by their paths: equal files in the same order give equal bytes.

    plain: paths to store without compression. So is a file that deflates so well that `unpack`
    would take it for a bomb.
    """
    out = io.BytesIO()
    pack_into(out, members.items, plain)
    return out.getvalue()


def pack_into(
    out: IO[bytes],
    members: Callable[[], Iterable[tuple[str, bytes | IO[bytes]]]],
    plain: frozenset[str] = frozenset(),
) -> None:
    """Write what `pack` returns to an empty file, member by member. members: returns each with its
    bytes or the open file that has them; called again where one deflates too well."""
    with zipfile.ZipFile(out, "w") as archive:
        for path, data in members():
            info = zipfile.ZipInfo(path, _DATE)
            info.compress_type = zipfile.ZIP_STORED if path in plain else zipfile.ZIP_DEFLATED
            info.external_attr, info.create_system = _PLAIN_FILE, _UNIX
            if isinstance(data, bytes):
                archive.writestr(info, data, compresslevel=6)
            else:
                _copy_in(archive, info, data)
    dense = {
        info.filename
        for info in archive.infolist()
        if info.file_size * 2 > MAX_RATIO * info.compress_size
    } - plain
    if dense:
        out.seek(0)
        out.truncate()
        pack_into(out, members, plain | dense)


def _copy_in(archive: zipfile.ZipFile, info: zipfile.ZipInfo, file: IO[bytes]) -> None:
    """Add a file as `writestr` adds its bytes."""
    info.file_size = file.seek(0, io.SEEK_END)
    file.seek(0)
    # which `writestr` sets; Python 3.13 has a public name
    info._compresslevel = 6  # type: ignore[attr-defined]
    with archive.open(info, "w") as member:
        shutil.copyfileobj(file, member, 1 << 20)


def _refuse_unsafe(members: list[zipfile.ZipInfo], name: str, packed: int, max_bytes: int) -> None:
    # whatever the end of the file says
    refuse_more(name, "members", len(members), MAX_MEMBERS)
    for member in members:
        refuse_unsafe_member(member, name)
    names = Counter(member.filename for member in members)
    repeated = [path for path, n in names.items() if n > 1]
    if repeated:
        raise UnsafeFile(
            f"{name}: member {quote(repeated[0])} is there {names[repeated[0]]} times, expected"
            " each once"
        )
    refuse_bomb(
        name, packed, sum(member.file_size for member in members), max_bytes, unsuspicious=0
    )


def refuse_unsafe_member(member: zipfile.ZipInfo, name: str) -> None:
    """Raise UnsafeFile for a member of the archive `name` with an absolute or parent path, a link
    or an encrypted one."""
    path = member.orig_filename.replace("\\", "/")
    if path.startswith("/") or _DRIVE.match(path) or ".." in path.split("/"):
        raise UnsafeFile(
            f"{name}: member {quote(path)} leaves the archive, expected a path inside it"
        )
    if stat.S_ISLNK(member.external_attr >> 16):
        raise UnsafeFile(f"{name}: member {quote(path)} is a link, expected plain files")
    if member.flag_bits & _ENCRYPTED:
        raise UnsafeFile(f"{name}: member {quote(path)} is encrypted, expected plain files")


def _find_csv(members: list[zipfile.ZipInfo], name: str) -> zipfile.ZipInfo:
    paths = [(PurePosixPath(m.filename), m) for m in members if not m.filename.endswith("/")]
    tables = [
        (path, m)
        for path, m in paths
        if path.suffix.lower() == ".csv" and "__MACOSX" not in path.parts
    ]
    named = [(path, m) for path, m in tables if path.name.lower() == "submission.csv"]
    found = named or tables
    if len(found) != 1:
        inside = ", ".join(quote(str(path)) for path, _ in (found or paths)[:5]) or "nothing"
        raise InputError(
            f"{name}: {len(found)} CSV files to choose from in {inside}, expected one"
            " submission.csv"
        )
    member = found[0][1]
    _refuse_unreadable(member, name)
    return member


def _refuse_unreadable(member: zipfile.ZipInfo, name: str) -> None:
    if not member.filename.isprintable():
        raise UnsafeFile(
            f"{name}: member {quote(member.filename)} has control characters in its name"
        )
    if member.compress_type not in _METHODS:
        raise InputError(
            f"{name}: {member.filename} is packed by method {member.compress_type}, expected"
            " deflate or Zstandard"
        )


MAX_MEMBERS = 200_000  # of a zip; a log of Inspect AI has one a row
# of the list of members, which takes up to fifteen times as much in memory
MAX_LIST_BYTES = 24 << 20
_PACKED_MAGICS: Final = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_CHUNK_BYTES: Final = 1 << 20
_SUFFIXES: Final = (".gz", ".bgz", ".bz2", ".zst", ".zstd")
# What unpacking raises on damaged bytes; ValueError covers names that do not decode and negative
# seeks.
DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    ValueError,
    struct.error,
)


def packing_of(head: bytes) -> str:
    """Return what a file is packed by, from its first bytes: "gzip", "bz2" or "zstd"; "" for none
    of these."""
    for magic, kind in _PACKED_MAGICS.items():
        if head.startswith(magic):
            return kind
    return ""


def bare_name(name: str) -> str:
    """Return a file's name without the suffix that says how it is packed."""
    path = Path(name)
    return str(path.with_suffix("")) if path.suffix.lower() in _SUFFIXES else name


class BoundedStream(io.RawIOBase):
    """Bytes that are counted as they are unpacked. Reading raises UnsafeFile beyond `most`, and
    InputError for damaged bytes."""

    def __init__(self, stream: IO[bytes], name: str, most: int, what: str = "zip") -> None:
        self._stream = stream
        self._name = name
        self._most = most
        self._what = what
        self._count = 0

    def readable(self) -> bool:
        return True

    # RawIOBase says "any writable buffer"
    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._stream.read(len(buffer))
        except (*DAMAGE, OSError) as error:  # OSError: of Arrow, which names a damaged stream by it
            raise InputError(f"{self._name}: damaged {self._what} ({error})") from error
        self._count += len(data)
        if self._count > self._most:
            limits = (
                f"at most {MAX_RATIO} times its packed size, {MAX_UNPACKED_BYTES:,} bytes, and what"
                " its header says"
            )
            raise UnsafeFile(
                f"{self._name}: unpacks to more than {self._most:,} bytes, expected {limits}"
            )
        buffer[: len(data)] = data
        return len(data)


def unpack_file(file: IO[bytes] | io.BufferedIOBase, name: str) -> io.RawIOBase | None:
    """Return the unpacked bytes of a file that is packed, read from its beginning; None for one
    that is not.

    name: of the file, for errors. What `BoundedStream` raises, reading raises.
    """
    import pyarrow as pa

    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    kind = packing_of(file.read(4))
    file.seek(0)
    if not kind:
        return None
    stream: IO[bytes] = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), kind)
    most = min(MAX_UNPACKED_BYTES, max(MAX_RATIO * size, UNSUSPICIOUS_BYTES))
    return BoundedStream(stream, name, most, f"{kind} file")


def open_archive(file: io.BufferedIOBase, name: str) -> zipfile.ZipFile:
    """Open a zip. Raise UnsafeFile for too many members, before the list of them is read; one of
    DAMAGE for what is not a zip."""
    # nothing public says how long the list is before it is read
    end = zipfile._EndRecData(file)  # type: ignore[attr-defined]
    if end is not None:
        members, size = (end[getattr(zipfile, at)] for at in ("_ECD_ENTRIES_TOTAL", "_ECD_SIZE"))
        refuse_more(name, "members", members, MAX_MEMBERS)
        refuse_more(name, "bytes of names of members", size, MAX_LIST_BYTES)
    return zipfile.ZipFile(file)


def refuse_more(name: str, of: str, n: int, most: int) -> None:
    if n > most:
        raise UnsafeFile(f"{name}: {n:,} {of}, expected at most {most:,}")


@contextmanager
def plain_file(path: Path, name: str) -> Iterator[tuple[Path, str]]:
    """Give a file and its name; of one that is packed, the unpacked file in a folder that goes when
    the block ends, and its bare name.

    name: what the file is called. Raise OSError, and UnsafeFile or InputError for what unpacks to
    too much or is damaged.
    """
    with path.open("rb") as file:
        stream = unpack_file(file, name)
        if stream is None:
            yield path, name
            return
        with temporary_folder("unpacked") as folder:
            plain = folder / bare_name(path.name)
            with plain.open("wb") as out:
                shutil.copyfileobj(stream, out, _CHUNK_BYTES)
            yield plain, bare_name(name)
