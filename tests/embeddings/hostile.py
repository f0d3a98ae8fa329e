"""Pickles that try to do something when read; every one names what it asks for."""

from __future__ import annotations

import collections
import os
import pickle
from pathlib import Path
from typing import Any

from core.base.errors import InputError, UnknownFormat, UnsafeFile


class Calls:
    """Unpickling this calls a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self._call = function, arguments

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self._call


def touches(marker: Path) -> list[tuple[str, bytes]]:
    """(what it asks for, pickle): read by an ordinary unpickler, each of the first six makes the file `marker`."""
    command = f"touch {marker}"
    system = Calls(os.system, command)
    return [
        *(
            (f"{os.system.__module__}.system", pickle.dumps(system, protocol))
            for protocol in (0, 2, 5)
        ),
        (f"{os.system.__module__}.system", pickle.dumps({"TP53": system, "id": 3})),
        (f"{os.system.__module__}.system", pickle.dumps([0.5, (None, {"a": [system]})])),
        (
            "builtins.eval",
            pickle.dumps({"a": Calls(eval, f"__import__('os').system({command!r})")}),
        ),
        ("collections.OrderedDict", pickle.dumps(collections.OrderedDict(a=1))),
        ("builtins.getattr", pickle.dumps(Calls(getattr, "x", "upper"))),
        # a name with dots walks into attributes; the name comes from the memo, out of order
        (
            "os.path.os.system",
            b"\x80\x04\x8c\x0eos.path.system\x94\x8c\x02os\x8c\x0epath.os.system\x93.",
        ),
        ("os.system", b"(ios\nsystem\n."),
        ("os.system", b"cos\nsystem\n(S'" + command.encode() + b"'\ntR."),
        ("builtins.int", b"cbuiltins\nint\n."),
        ("BINPERSID", b"\x80\x04\x8c\x03key\x94Q."),
        ("EXT1", b"\x80\x02\x82\x01."),
        ("REDUCE", b"\x80\x04}}R."),
        ("BUILD", b"\x80\x04}}b."),
        ("EMPTY_LIST", pickle.dumps([1, 2])),
        ("BINFLOAT", pickle.dumps({"a": 0.5})),
        ("keeps", b"\x80\x02}r\xff\xff\xff\x7f."),
    ]


def refusal_of(what: str) -> tuple[type[InputError], str]:
    """The error, and its words, that a file of `touches` ends in as a gene space."""
    if what in ("EMPTY_LIST", "BINFLOAT"):  # lists and floats make a space, if each gene has a list
        return UnknownFormat, "a pickle of"
    return UnsafeFile, what
