"""HDF5 files are checked before they are read: a file is opened only if all its content is inside
it, with filters of h5py.

A link, a dataset in external storage and a virtual one make HDF5 open other files; a filter of its
own makes it load a library; links in a circle never end. Each is refused by the name of its object
before any value is read.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from core.base.errors import InputError, UnsafeFile
from core.base.file_limits import refuse_beyond_memory
from core.features.cells.packages import import_hdf5

MOST_OBJECTS = 100_000
MOST_DEPTH = 64
MOST_ATTRIBUTES = 1_000  # of an object
SCANNED_BYTES = 1 << 30  # a larger file is not searched for its longest text
_UNSCANNED_TEXT = 1 << 16
MOST_PLACES = 1_000_000  # of an attribute's name
_FILTERS = {1, 2, 3, 4, 5, 6, 32000}  # deflate, shuffle, fletcher32, szip, nbit, scaleoffset, lzf
_HEAP = b"GCOL\x01\0\0\0"  # begins a collection of texts, and is followed by its size
_HEAP_HEADER = 16  # bytes
# bytes, at most, from an attribute's name to its value: its type and its shape
_ATTRIBUTE_HEADER = 256
# the reference stored for a text
TEXT_REFERENCE = np.dtype([("length", "<u4"), ("heap", "<u8"), ("index", "<u4")])
# the number of a text in its collection, references to it, and its length
_TEXT_HEADER = struct.Struct("<H6xQ")
# Errors of h5py for bytes that are not HDF5, for missing objects, and for types unknown to NumPy.
_DAMAGE = (
    *(
        OSError,
        RuntimeError,
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
        ArithmeticError,
        AssertionError,
    ),
    *(MemoryError, BufferError, SystemError, struct.error),
)


class Hdf5File:
    """A checked HDF5 file, open for reading. Close it, or use `with`. path: its name.

    size: of the file in bytes. root: of h5py.
    """

    def __init__(self, path: Path, root: Any) -> None:
        self.path = path
        self.size = path.stat().st_size
        self.root = root
        self._taken = 0
        self._places: dict[str, list[int]] = {}

    def take_memory(self, what: str, n_bytes: int) -> None:
        """Count bytes that will be held in memory. Raise InputError if that is more than one file
        may take."""
        self._taken += n_bytes
        refuse_beyond_memory(f"{self.path}: {what}", self._taken)

    @cached_property
    def longest_text(self) -> int:
        """At least as many bytes as the longest text of varying length has; many texts may point to
        the same bytes."""
        if self.size > SCANNED_BYTES:
            return _UNSCANNED_TEXT
        return min(max(self._heaps.values(), default=0), self.size)

    @cached_property
    def _heaps(self) -> dict[int, int]:
        """Address → size of each collection of texts."""
        return (
            {at: size for at, _, size in _find_heaps(self.path)}
            if self.size <= SCANNED_BYTES
            else {}
        )

    def refuse_long_text(self, what: str, lengths: Iterable[int]) -> None:
        """Raise UnsafeFile for a text that is said to be longer than any collection of them: HDF5
        makes room for it first."""
        longest = max(lengths, default=0)
        if longest > self.longest_text:
            raise UnsafeFile(
                f"{self.path}: {what}: a text of {longest:,} bytes, expected at most"
                f" {self.longest_text:,}"
            )

    def attribute_lengths(self, name: str, n: int) -> Iterator[int]:
        """Yield the lengths that texts of varying length have in attributes of this name, of up to
        n texts each.

        h5py tells them of no attribute. They stand behind its name, each before the address of the
        collection with the text.
        """
        window = _ATTRIBUTE_HEADER + n * TEXT_REFERENCE.itemsize
        with _map_file(self.path) as content:
            for at in self._places_of(name, content):
                possible = content[at : at + window]
                found = (
                    length
                    for start in range(len(possible) - TEXT_REFERENCE.itemsize + 1)
                    for length, heap, index in [struct.unpack_from("<IQI", possible, start)]
                    if heap in self._heaps and 0 < index <= self._heaps[heap] // _TEXT_HEADER.size
                )
                yield from islice(found, n)

    def _places_of(self, name: str, content: mmap.mmap) -> list[int]:
        """Return the places of an attribute's name. The whole file is searched once per name, not
        per attribute. Raise UnsafeFile for more places than objects.
        """
        if name not in self._places:
            found, text = list[int](), name.encode() + b"\0"
            at = content.find(text) if self._heaps else -1
            while at >= 0:
                found.append(at)
                if len(found) > MOST_PLACES:
                    raise UnsafeFile(
                        f"{self.path}: the name {name} in more than {MOST_PLACES:,} places,"
                        " expected fewer"
                    )
                at = content.find(text, at + 1)
            self._places[name] = found
        return self._places[name]

    def close(self) -> None:
        self.root.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_hdf5(path: Path) -> Hdf5File:
    """Open a file and walk it.

    Raise UnsafeFile, with the name of the object, for links that leave the file, lead nowhere or in
    a circle, external storage, virtual datasets, other filters, and more objects, attributes or
    levels than a file of data has; InputError for a damaged file; MissingPackage without h5py.
    """
    h5py = import_hdf5()
    _refuse_endless_heaps(path)
    with damage_named(str(path)):
        root = h5py.File(path, "r")
        try:
            _Walk(h5py, path).walk(root.id)
            return Hdf5File(path, root)
        except BaseException:
            root.close()
            raise


@contextmanager
def _map_file(path: Path) -> Iterator[mmap.mmap]:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        yield content


def _find_heaps(path: Path) -> Iterator[tuple[int, memoryview, int]]:
    """Yield the address of each collection of texts in a file, its bytes, and the size that it says
    to have."""
    with _map_file(path) as content, memoryview(content) as view:
        at = content.find(_HEAP)
        while at >= 0:
            size = int.from_bytes(view[at + 8 : at + 16], "little")
            with view[at : at + size] as heap:
                yield at, heap, size
            at = content.find(_HEAP, at + 8)


def _refuse_endless_heaps(path: Path) -> None:
    """Raise InputError for a collection of texts that would make HDF5 search for ever: after a text
    that claims to be longer than the collection, or in free space of size 0. A file of more than
    `SCANNED_BYTES` is not searched.
    """
    if not 0 < path.stat().st_size <= SCANNED_BYTES:
        return
    for _, heap, size in _find_heaps(path):
        at = _HEAP_HEADER
        while len(heap) == size and size - at >= _TEXT_HEADER.size:
            number, length = _TEXT_HEADER.unpack_from(heap, at)
            # free space has the number 0
            taken = _TEXT_HEADER.size + -(-length // 8) * 8 if number else length
            at += taken
            if at > size or not taken:
                what = (
                    f"a text of {length:,} bytes" if number else f"free space of {length:,} bytes"
                )
                raise InputError(
                    f"{path}: cannot be read as AnnData ({what} among {size:,}), expected an .h5ad"
                    " file"
                )


@contextmanager
def damage_named(where: str) -> Iterator[None]:
    """Raise InputError, naming the place, for any error of h5py inside the block."""
    try:
        yield
    except _DAMAGE as error:
        text = next(iter(str(error).strip().splitlines()), "")[:200] or type(error).__name__
        raise InputError(
            f"{where}: cannot be read as AnnData ({text}), expected an .h5ad file"
        ) from error


class _Link(NamedTuple):
    """A link of a group. kind: of h5py.h5l. address: of the object, if it is a hard link."""

    name: bytes
    kind: int
    address: int


class _Group(NamedTuple):
    """A group to check. above: addresses of the groups that it lies in, and its own."""

    id: Any
    path: str
    above: frozenset[int]


class _Walk:
    """One walk through a file that visits each object once."""

    def __init__(self, h5py: Any, path: Path) -> None:
        self._h5py = h5py
        self._path = path
        self._links = 0
        self._visited: set[int] = set()
        self._soft: list[tuple[Any, bytes, str]] = []

    def walk(self, root: Any) -> None:
        address = self._h5py.h5o.get_info(root).addr
        self._visited.add(address)
        groups = [_Group(self._h5py.h5g.open(root, b"/"), "", frozenset({address}))]
        while groups:
            group = groups.pop()
            for link in self._links_of(group):
                inner = self._visit(group, link)
                if inner is not None:
                    groups.append(inner)
        for group_id, name, where in self._soft:  # no link to another file is left by now
            try:
                opened = self._h5py.h5o.open(group_id, name)
            except (KeyError, RuntimeError, OSError, ValueError) as error:
                raise self._refusal(
                    where,
                    "a link that leads nowhere or in a circle",
                    "links to objects of the file",
                ) from error
            if self._h5py.h5o.get_info(opened).addr not in self._visited:
                raise self._refusal(
                    where, "a link that leaves the file", "links to objects of the file"
                )

    def _links_of(self, group: _Group) -> list[_Link]:
        if len(group.above) > MOST_DEPTH:
            raise UnsafeFile(
                f"{self._path}: {group.path[:200]}… lies {MOST_DEPTH} groups deep, expected fewer"
            )
        found: list[_Link] = []

        def note(name: bytes, info: Any) -> bool | None:
            found.append(_Link(name, info.type, info.u))
            # True ends it; h5py loses what is raised here
            return True if self._links + len(found) > MOST_OBJECTS else None

        group.id.links.iterate(note, info=True)
        self._links += len(found)
        if self._links > MOST_OBJECTS:
            raise UnsafeFile(
                f"{self._path}: more than {MOST_OBJECTS:,} objects, the last in {group.path or '/'}"
            )
        return found

    def _visit(self, group: _Group, link: _Link) -> _Group | None:
        """Check a link's target; return it if it is a new group."""
        h5l = self._h5py.h5l
        where = f"{group.path}/{link.name.decode('utf-8', 'backslashreplace')}"
        if link.kind == h5l.TYPE_SOFT:
            self._soft.append((group.id, link.name, where))
            return None
        if link.kind != h5l.TYPE_HARD:
            what = (
                "a link to another file"
                if link.kind == h5l.TYPE_EXTERNAL
                else f"a link of the kind {link.kind}"
            )
            raise self._refusal(where, what, "all objects in the file itself")
        if link.address in group.above:
            raise self._refusal(
                where, "a link to a group that it lies in", "groups without circles"
            )
        if link.address in self._visited:
            return None
        self._visited.add(link.address)
        opened = self._h5py.h5o.open(group.id, link.name)
        n_attributes = self._h5py.h5o.get_info(opened).num_attrs
        if n_attributes > MOST_ATTRIBUTES:
            raise self._refusal(
                where, f"{n_attributes:,} attributes", f"at most {MOST_ATTRIBUTES:,}"
            )
        if isinstance(opened, self._h5py.h5d.DatasetID):
            self._check_dataset(opened, where)
        if not isinstance(opened, self._h5py.h5g.GroupID):
            return None
        return _Group(opened, where, group.above | {link.address})

    def _check_dataset(self, dataset: Any, where: str) -> None:
        made = dataset.get_create_plist()
        if made.get_external_count():
            raise self._refusal(
                where, "values in another file (external storage)", "all values in the file itself"
            )
        if made.get_layout() == self._h5py.h5d.VIRTUAL:
            raise self._refusal(
                where,
                "a virtual dataset, whose values lie elsewhere",
                "all values in the dataset itself",
            )
        others = {made.get_filter(i)[0] for i in range(made.get_nfilters())} - _FILTERS
        if others:
            raise self._refusal(
                where,
                f"packed by filter {min(others)}, which is no part of HDF5",
                "deflate (gzip) or lzf",
            )

    def _refusal(self, where: str, got: str, expected: str) -> UnsafeFile:
        return UnsafeFile(f"{self._path}: {where[:200]}: {got}; expected {expected}")
