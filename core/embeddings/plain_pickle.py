"""Read pickled dictionaries of text and whole numbers, or of lists of numbers. Any other pickle is
refused without loading it."""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Set
from pathlib import Path
from typing import Any

from core.base.errors import InputError, UnknownFormat, UnsafeFile
from core.base.file_io import read_file
from core.embeddings.space import first_line

MAX_BYTES = 1 << 28  # Geneformer's dictionaries have less than 2 MB

_SPLIT_NAMES = {"train", "val", "test", "test_subgroup"}
_GLOBALS = {"GLOBAL", "INST", "STACK_GLOBAL"}
_ALLOWED = {
    *("PROTO", "FRAME", "STOP", "MARK", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS"),
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"),
    *(
        "UNICODE",
        "BINUNICODE",
        "SHORT_BINUNICODE",
        "BINUNICODE8",
        "STRING",
        "BINSTRING",
        "SHORT_BINSTRING",
    ),
    *("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "GET", "BINGET", "LONG_BINGET"),
}
_LISTS = {
    *(
        "EMPTY_LIST",
        "LIST",
        "APPEND",
        "APPENDS",
        "EMPTY_TUPLE",
        "TUPLE",
        "TUPLE1",
        "TUPLE2",
        "TUPLE3",
        "FLOAT",
        "BINFLOAT",
    ),
}
# All known exceptions of pickle, and of methods that a damaged pickle calls on the wrong object.
_DAMAGED_PICKLE = (
    pickle.UnpicklingError,
    EOFError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    OverflowError,
    MemoryError,
)


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler that finds no class and no function."""

    def __init__(self, content: bytes, source: str, expected: str) -> None:
        super().__init__(io.BytesIO(content))
        self._source = source
        self._expected = expected

    def find_class(self, module: str, name: str, /) -> Any:
        raise UnsafeFile(
            f"{self._source}: a pickle that asks for {module}.{name}, expected only"
            f" {self._expected}"
        )


def read_plain_pickle(path: Path) -> dict[str, str] | dict[str, int]:
    """Return a pickled dictionary of text to text or of text to whole numbers.

    Nothing named in the file is imported, called or built. Raise UnsafeFile, naming the import, and
    InputError for a damaged pickle or one with other content.
    """
    found: Any = _load(path, _ALLOWED, "dict, str and int")
    for kind in (str, int):
        if type(found) is dict and all(
            type(key) is str and type(value) is kind for key, value in found.items()
        ):
            return found
    raise InputError(
        f"{path.name}: a pickle of {_describe(found)}, expected a dictionary of str to str or"
        " to int"
    )


def _load(path: Path, allowed: Set[str], expected: str) -> object:
    content = read_file(path, MAX_BYTES)
    try:
        odd = ""  # other instructions; find_class refuses globals by name
        for count, (instruction, argument, _) in enumerate(pickletools.genops(content)):
            name = instruction.name
            if name in _GLOBALS:
                odd = ""
                break
            # memo slots that would fill the memory
            if "PUT" in name and isinstance(argument, int) and argument > count:
                raise UnsafeFile(
                    f"{path.name}: a pickle that keeps {argument:,} objects, expected at most"
                    f" {count:,}"
                )
            odd = odd or ("" if name in allowed else name)
        if odd:
            raise UnsafeFile(
                f"{path.name}: a pickle with the instruction {odd}, expected only {expected}"
            )
        return _PlainUnpickler(content, path.name, expected).load()
    except _DAMAGED_PICKLE as error:
        raise InputError(f"{path.name}: a damaged pickle ({first_line(error)})") from error


def read_pickled_vectors(path: Path) -> dict[str, Any]:
    """Return a pickled dictionary of texts to equally long lists or tuples of numbers, the format
    of GenePT.

    Raise the errors of `read_plain_pickle`.
    """
    found = _load(
        path,
        _ALLOWED | _LISTS,
        "dict, str, int, float and lists (array.tolist() makes a list of an array)",
    )
    vectors = dict(found) if type(found) is dict else {}
    if vectors and set(vectors) <= _SPLIT_NAMES:
        raise UnknownFormat(
            f"{path.name}: a pickle of a split of conditions, as saved by GEARS. Target ranking"
            " reads splits from JSON (targets train --split FILE)"
        )
    if not vectors or not all(
        type(key) is str
        and type(value) in (list, tuple)
        and value
        and all(type(number) in (int, float) for number in value)
        for key, value in vectors.items()
    ):
        raise UnknownFormat(
            f"{path.name}: a pickle of {_describe(found)}, expected str to lists of numbers"
            " (GenePT)"
        )
    lengths = {len(value) for value in vectors.values()}
    if len(lengths) > 1:
        raise InputError(
            f"{path.name}: lists of {min(lengths):,} to {max(lengths):,} numbers, expected one"
            " length"
        )
    return vectors


def _describe(value: object) -> str:
    if type(value) is not dict:
        return type(value).__name__
    kinds = sorted(
        {f"{type(key).__name__} to {type(item).__name__}" for key, item in value.items()}
    )
    return f"a dictionary of {' and '.join(kinds)}"
