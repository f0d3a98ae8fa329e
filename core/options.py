"""Options that a person may set: what each may be, and how it is read from a text. Methods, ablations, fine-tunes and ranking
models have them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from core.errors import InputError

Kind = Literal["int", "float", "text", "flag", "choice", "spaces", "run", "runs", "prompts"]
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a method or a model: a name, its default, what it does, and what it may be.

    kind: "spaces", "run" and "runs" are texts that name gene spaces or runs, with commas between them; forms offer those that
    are there. "prompts" is the SHA-256 of a file of prompts that the workspace keeps, "" for none. least, most: of numbers, both
    included. choices: of kind "choice".
    """

    name: str
    kind: Kind
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None

    def read(self, value: object) -> Any:
        """Returns the value that a text, or a value as it is, stands for. Raises InputError with what was expected."""
        if self.kind == "flag":
            return self._flag(value)
        if self.kind in ("int", "float"):
            return self._number(value)
        text = str(value)
        if self.kind == "choice" and text not in self.choices:
            raise InputError(f"{self.name}: got {text!r}, expected {', '.join(self.choices)}")
        if self.kind == "prompts" and text and not is_sha256(text):
            raise InputError(f"{self.name}: got {text!r}, expected a file of prompts, or the SHA-256 of one that is kept here")
        return text

    def _flag(self, value: object) -> bool:
        known = {"true": True, "yes": True, "1": True, "on": True, "false": False, "no": False, "0": False, "off": False}
        found = known.get(str(value).lower())
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
            raise InputError(f"{self.name}: got {number}, expected {low} to {high}")
        return number


def read_options(options: Sequence[Option], given: Mapping[str, object]) -> dict[str, Any]:
    """Returns every option with its value, the default if none is given. Raises InputError for an unknown option."""
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
