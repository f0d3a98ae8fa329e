"""Read pickled dictionaries of text and whole numbers, or of vectors. Any other pickle is refused without loading it."""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from typing import Any, Final

import numpy as np

from core.embeddings.space import first_line
from core.errors import InputError, UnknownFormat, UnsafeFile
from core.file_io import read_file

MAX_BYTES = 1 << 28  # Geneformer's dictionaries have less than 2 MB

_SPLIT_NAMES = {"train", "val", "test", "test_subgroup"}
_GLOBALS = {"GLOBAL", "INST", "STACK_GLOBAL"}
_ALLOWED = {
    *("PROTO", "FRAME", "STOP", "MARK", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS"),
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING", "SHORT_BINSTRING"),
    *("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "GET", "BINGET", "LONG_BINGET"),
}
_LISTS = {
    *("EMPTY_LIST", "LIST", "APPEND", "APPENDS", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "FLOAT", "BINFLOAT"),
}
# Further instructions in arrays of NumPy. Functions of this module replace the globals: NumPy's are not called.
_ARRAYS = {
    *("GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "NONE", "NEWTRUE", "NEWFALSE"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
}
# These make a forbidden value without calling anything. Reading continues, so that the error can name a global inside it.
_INERT = {
    *("EMPTY_LIST", "LIST", "APPEND", "APPENDS", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
    *("EMPTY_SET", "ADDITEMS", "FROZENSET", "NONE", "NEWTRUE", "NEWFALSE", "FLOAT", "BINFLOAT"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
}
# All known exceptions of pickle, and of methods that a damaged pickle calls on the wrong object.
_DAMAGED = (pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, LookupError, OverflowError, MemoryError)


class _Type:
    """A type of numbers in a pickled array, such as "<f4"."""

    def __init__(self, code: str) -> None:
        if not isinstance(code, str) or code.lstrip("<>|=") not in _NUMBERS:
            raise ValueError(f"an array of type {str(code)[:20]!r}, expected numbers")
        self.code = code

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.code = f"{state[1]}{self.code.lstrip('<>|=')}" if state[1] in ("<", ">") else self.code


class _Array:
    """A one-dimensional array of numbers in a pickle, made from its state: version, shape, type, order, bytes."""

    values: np.ndarray

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, _, content = state
        if not isinstance(kind, _Type) or not isinstance(content, bytes | bytearray):
            raise ValueError("an array without numbers")
        self._take(np.frombuffer(content, dtype=kind.code), shape)

    def _take(self, values: np.ndarray, shape: tuple[int, ...]) -> None:
        if shape != (len(values),):
            raise ValueError(
                f"an array of shape {shape} with {len(values):,} numbers, expected one dimension: a vector for each symbol"
            )
        self.values = values


def _type_of(code: str, *_: object) -> _Type:
    return _Type(code)


def _empty_array(*_: object) -> _Array:
    return _Array()


def _array_of_buffer(content: bytes, kind: _Type, shape: tuple[int, ...], _: str = "C") -> _Array:
    found = _Array()
    found.__setstate__((1, shape, kind, False, content))
    return found


def _scalar(kind: _Type, content: bytes) -> float:
    return float(np.frombuffer(content, dtype=kind.code)[0])


def _bytes_of_text(text: str, encoding: str) -> bytes:
    """Return the bytes from the text that protocols below 3 write for them."""
    if encoding != "latin1" or not isinstance(text, str):
        raise ValueError(f"bytes as {encoding!r}, expected latin1")
    return text.encode("latin1")


class _Maker:
    """A function that a pickle may call but cannot change."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[..., object]) -> None:
        self._make = make

    def __call__(self, *args: object) -> object:
        return self._make(*args)

    def __setstate__(self, _: object) -> None:
        raise ValueError("a pickle that changes a function")


_NUMBERS: Final = {f"{kind}{size}" for kind in "fiu" for size in (1, 2, 4, 8)} - {"f1"}
_MAKERS: Final[Mapping[tuple[str, str], _Maker]] = {
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Maker(_empty_array) for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _Maker(_scalar) for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _Maker(_array_of_buffer) for core in ("core", "_core")},
    ("numpy", "ndarray"): _Maker(_Array),
    ("numpy", "dtype"): _Maker(_type_of),
    ("_codecs", "encode"): _Maker(_bytes_of_text),
}


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler that finds no class and no function, except, with `arrays`, this module's replacements of NumPy's."""

    def __init__(self, content: bytes, source: str, expected: str, *, arrays: bool = False) -> None:
        super().__init__(io.BytesIO(content))
        self._source = source
        self._expected = expected
        self._makers = _MAKERS if arrays else {}

    def find_class(self, module: str, name: str, /) -> Any:
        if (module, name) in self._makers:
            return self._makers[module, name]
        raise UnsafeFile(f"{self._source}: a pickle that asks for {module}.{name}, expected only {self._expected}")


def read_plain_pickle(path: Path) -> dict[str, str] | dict[str, int]:
    """Return a pickled dictionary of text to text or of text to whole numbers.

    Nothing named in the file is imported, called or built. Raise UnsafeFile, naming the import, and InputError for a damaged
    pickle or one with other content.
    """
    found: Any = _load(path, _ALLOWED, "dict, str and int")
    for kind in (str, int):
        if type(found) is dict and all(type(key) is str and type(value) is kind for key, value in found.items()):
            return found
    raise InputError(f"{path.name}: a pickle of {_describe(found)}, expected a dictionary of str to str or to int")


def _load(path: Path, allowed: Set[str], expected: str, *, arrays: bool = False) -> object:
    content = read_file(path, MAX_BYTES)
    try:
        _check_instructions(content, path.name, allowed, expected)
        return _PlainUnpickler(content, path.name, expected, arrays=arrays).load()
    except _DAMAGED as error:
        raise InputError(f"{path.name}: a damaged pickle ({first_line(error)})") from error


def read_pickled_vectors(path: Path) -> dict[str, Any]:
    """Return a pickled dictionary of texts to equally long lists, tuples or NumPy arrays of numbers, the format of GenePT.

    Arrays are built from their bytes, without NumPy's unpickling. Raise the errors of `read_plain_pickle`.
    """
    found = _load(path, _ALLOWED | _LISTS | _ARRAYS, "dict, str, int, float, list and arrays of numbers", arrays=True)
    vectors = dict(found) if type(found) is dict else {}
    vectors = {key: getattr(value, "values", None) if type(value) is _Array else value for key, value in vectors.items()}
    if vectors and set(vectors) <= _SPLIT_NAMES:
        raise UnknownFormat(
            f"{path.name}: a pickle of a split of conditions, as saved by GEARS. Target ranking reads splits from JSON "
            "(targets train --split FILE)"
        )
    if not vectors or not all(type(key) is str and _is_vector(value) for key, value in vectors.items()):
        raise UnknownFormat(f"{path.name}: a pickle of {_describe(found)}, expected str to lists of numbers (GenePT)")
    lengths = {len(value) for value in vectors.values()}
    if len(lengths) > 1:
        raise InputError(f"{path.name}: lists of {min(lengths):,} to {max(lengths):,} numbers, expected one length")
    return vectors


def _is_vector(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return len(value) > 0
    return type(value) in (list, tuple) and bool(value) and all(type(number) in (int, float) for number in value)  # type: ignore[attr-defined]


def _check_instructions(content: bytes, source: str, allowed: Set[str], expected: str) -> None:
    """Raise UnsafeFile for other instructions, and for memo slots that would fill the memory. find_class handles globals."""
    odd = ""
    for count, (instruction, argument, _) in enumerate(pickletools.genops(content)):
        name = instruction.name
        if name in _GLOBALS - allowed:
            return
        if "PUT" in name and isinstance(argument, int) and argument > count:
            raise UnsafeFile(f"{source}: a pickle that keeps {argument:,} objects, expected at most {count:,}")
        if name not in allowed:
            odd = odd or name
            if name not in _INERT:
                break
    if odd:
        raise UnsafeFile(f"{source}: a pickle with the instruction {odd}, expected only {expected}")


def _describe(value: object) -> str:
    if type(value) is not dict:
        return type(value).__name__
    kinds = sorted({f"{type(key).__name__} to {type(item).__name__}" for key, item in value.items()})
    return f"a dictionary of {' and '.join(kinds)}"
