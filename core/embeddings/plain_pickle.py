"""Reads pickled dictionaries of text and whole numbers; a pickle of anything else is refused before it is loaded."""

from __future__ import annotations

import io
import pickle
import pickletools
from pathlib import Path
from typing import NoReturn

from core.embeddings.space import first_line
from core.errors import InputError, UnsafeFile
from core.file_io import read_file

MAX_BYTES = 1 << 28  # Geneformer's dictionaries have less than 2 MB

_GLOBALS = {"GLOBAL", "INST", "STACK_GLOBAL"}
_ALLOWED = {
    *("PROTO", "FRAME", "STOP", "MARK", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS"),
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING", "SHORT_BINSTRING"),
    *("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "GET", "BINGET", "LONG_BINGET"),
}
# These make a value that is not allowed, but call nothing: reading continues, so that a global inside it can be named.
_INERT = {
    *("EMPTY_LIST", "LIST", "APPEND", "APPENDS", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
    *("EMPTY_SET", "ADDITEMS", "FROZENSET", "NONE", "NEWTRUE", "NEWFALSE", "FLOAT", "BINFLOAT"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
}
# Every exception that pickle, and the methods that a damaged pickle calls on the wrong object, are known to raise.
_DAMAGED = (pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, LookupError, OverflowError, MemoryError)


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler that finds no class and no function."""

    def __init__(self, content: bytes, source: str) -> None:
        super().__init__(io.BytesIO(content))
        self._source = source

    def find_class(self, module: str, name: str, /) -> NoReturn:
        raise UnsafeFile(f"{self._source}: a pickle that asks for {module}.{name}, expected only dict, str and int")


def read_plain_pickle(path: Path) -> dict[str, str] | dict[str, int]:
    """A pickled dictionary of text to text or of text to whole numbers.

    Nothing that the file names is imported, called or built. Raises UnsafeFile, which names what the file would import,
    and InputError for a damaged pickle or one that holds something else.
    """
    content = read_file(path, MAX_BYTES)
    try:
        _check_instructions(content, path.name)
        found = _PlainUnpickler(content, path.name).load()
    except _DAMAGED as error:
        raise InputError(f"{path.name}: a damaged pickle ({first_line(error)})") from error
    for kind in (str, int):
        if type(found) is dict and all(type(key) is str and type(value) is kind for key, value in found.items()):
            return found
    raise InputError(f"{path.name}: a pickle of {_describe(found)}, expected a dictionary of str to str or to int")


def _check_instructions(content: bytes, source: str) -> None:
    """Raise UnsafeFile for other instructions and for memo slots that would fill the memory; find_class names globals."""
    odd = ""
    for count, (instruction, argument, _) in enumerate(pickletools.genops(content)):
        name = instruction.name
        if name in _GLOBALS:
            return
        if "PUT" in name and isinstance(argument, int) and argument > count:
            raise UnsafeFile(f"{source}: a pickle that keeps {argument:,} objects, expected at most {count:,}")
        if name not in _ALLOWED:
            odd = odd or name
            if name not in _INERT:
                break
    if odd:
        raise UnsafeFile(f"{source}: a pickle with the instruction {odd}, expected only dict, str and int")


def _describe(value: object) -> str:
    if type(value) is not dict:
        return type(value).__name__
    kinds = sorted({f"{type(key).__name__} to {type(item).__name__}" for key, item in value.items()})
    return f"a dictionary of {' and '.join(kinds)}"
