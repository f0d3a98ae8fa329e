"""Files packed by gzip, bzip2 or Zstandard, unpacked while they are read and no further than a file
may unpack to."""

from __future__ import annotations

import io
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from core.base.errors import InputError, UnsafeFile
from core.base.file_io import temporary_folder
from core.base.file_limits import MAX_RATIO, MAX_UNPACKED_BYTES, UNSUSPICIOUS_BYTES

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
    return next((kind for magic, kind in _PACKED_MAGICS.items() if head.startswith(magic)), "")


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
