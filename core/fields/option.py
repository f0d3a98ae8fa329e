"""Options that a person may set: what each may be, and how it is read from a text. Methods, ablations, fine-tunes, ranking models
and requests have them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from core.errors import InputError

Kind = Literal["int", "float", "text", "flag", "choice", "spaces", "run", "runs", "prompts", "file", "numbers"]
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FLAGS = {"true": True, "yes": True, "1": True, "on": True, "false": False, "no": False, "0": False, "off": False}


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a method, a model or a request: a name, its default, what it does, and what it may be.

    kind: "spaces", "run" and "runs" are texts that name gene spaces or runs, with commas between them; forms offer those that
    are there. "prompts" is the SHA-256 of a file of prompts that the workspace keeps, "" for none. "numbers" is a tuple of
    as many numbers as the default has. least, most: of numbers, both included. choices: of kind "choice". A default of None: the
    value may be missing.

    title: on a form; the name in words without one. missing: what stands in its place on a form while there is no value. flag:
    on the command line, by default the name with dashes; one that begins with --no- takes away what is true by default. metavar:
    what stands for the value in --help. key: in links, by default the name. changes_result: whether it belongs to the identity
    of what is made. not_on_form, not_on_command: why a form or a command leaves it out.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    title: str = ""
    missing: str = "none"
    flag: str = ""
    metavar: str = ""
    key: str = ""
    changes_result: bool = True
    not_on_form: str = ""
    not_on_command: str = ""

    def read(self, value: object) -> Any:
        """Return the value that a text, or a value as it is, stands for. Raise InputError with what was expected."""
        if value is None and self.default is None:
            return None
        if self.kind == "flag":
            return self._flag(value)
        if self.kind in ("int", "float"):
            return self._number(value)
        if self.kind == "numbers":
            return self._numbers(value)
        text = str(value)
        if self.kind == "file":
            return Path(text)
        if self.kind == "choice" and text not in self.choices:
            raise InputError(f"{self.name}: got {text!r}, expected {', '.join(self.choices)}")
        if self.kind == "prompts" and text and not is_sha256(text):
            raise InputError(f"{self.name}: got {text!r}, expected a file of prompts, or the SHA-256 of one that is kept here")
        return text

    @property
    def option(self) -> str:
        """The option on the command line."""
        return self.flag or f"--{self.name.replace('_', '-')}"

    @property
    def negates(self) -> bool:
        """Whether the command's option takes away what is true by default."""
        return self.kind == "flag" and self.default is True

    def _flag(self, value: object) -> bool:
        found = _FLAGS.get(str(value).lower())
        if found is None:
            raise InputError(f"{self.name}: got {value!r}, expected yes or no")
        return found

    def _number(self, value: object) -> int | float:
        try:
            number = int(str(value)) if self.kind == "int" else float(str(value))
        except ValueError:
            kind = "a whole number" if self.kind == "int" else "a number"
            raise InputError(f"{self.name}: got {value!r}, expected {kind}") from None
        low, high = self.least, self.most
        if not (low is None or number >= low) or not (high is None or number <= high):
            expected = f"{low} or more" if high is None else f"{low} to {high}" if low is not None else f"{high} or less"
            raise InputError(f"{self.name}: got {number}, expected {expected}")
        return number

    def _numbers(self, value: object) -> tuple[float, ...]:
        parts = value if isinstance(value, list | tuple) else split_names(value)
        wanted = len(self.default)
        try:
            found = tuple(float(str(part)) for part in parts)
        except ValueError:
            found = ()
        if len(found) != wanted or not all(map(math.isfinite, found)):
            raise InputError(f"{self.name}: got {value!r}, expected {wanted} numbers with commas between them")
        return found


def read_options(options: Sequence[Option], given: Mapping[str, object]) -> dict[str, Any]:
    """Return every option with its value, the default if none is given. Raise InputError for an unknown option."""
    known = {option.name: option for option in options}
    for name in given:
        if name not in known:
            raise InputError(f"option {name!r}: not known, expected {', '.join(known) or 'none'}")
    return {name: option.read(given[name]) if name in given else option.default for name, option in known.items()}


def is_sha256(text: str) -> bool:
    """Whether a text is a SHA-256 in hexadecimal digits, in small letters."""
    return _SHA256.fullmatch(text) is not None


def split_names(names: object) -> list[str]:
    """Return the names in "a, b"."""
    return [name.strip() for name in str(names).split(",") if name.strip()]
