"""Options that a person may set: what each may be, and how it is read from a text. Methods, experiments, fine-tunes, ranking
models and requests have them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, Literal

from core.errors import InputError, SettingError

Kind = Literal[
    "int",
    "float",
    "text",
    "flag",
    "choice",
    "file",
    "numbers",
    "weights",
    "wholes",
    "values",
    "references",
    "spaces",
    "run",
    "runs",
    "prompts",
    "server",
]
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FLAGS = {"true": True, "yes": True, "1": True, "on": True, "false": False, "no": False, "0": False, "off": False}


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a method, a model or a request: a name, its default, what it does, and what it may be.

    kind: "spaces", "run" and "runs" are texts that name gene spaces or runs, with commas between them; forms offer those that
    are there. "server" is the address of a model server. "prompts" is the SHA-256 of a file of prompts that the workspace keeps,
    "" for none. "numbers" is a tuple of as many numbers as the default has, "weights" one of any length, "wholes" one of
    different whole numbers, "values" a mapping, "references" one of runs to runs. least, most: of numbers, both included; above,
    below: of "float", both excluded. choices: of kind "choice"; "" stands for none of them. A default of None: the value may be
    missing; of MISSING: it has to be given.

    several: whether the value is a tuple of what the kind says; on the command line with commas between them, or, if it is
    repeated, each by an option of its own. title: on a form; the name in words without one. missing: what stands in its place on
    a form while there is no value. flag: on the command line, by default the name with dashes, behind "no-" for what is true by
    default. metavar: what stands for the value in --help. command_help: what stands there instead of `help`. required: whether
    the command has no default. is_usage: whether another value is wrong usage of the command, which then shows range or choices.
    key: in links, by default the name. changes_result: whether it belongs to the identity of what is made. not_on_form,
    not_on_command: why a form or a command leaves it out.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    several: bool = False
    repeated: bool = False
    title: str = ""
    missing: str = "none"
    words: Mapping[str, str] | None = None
    slider: tuple[float, float, float] | None = None
    offered: tuple[int, ...] = ()
    flag: str = ""
    metavar: str = ""
    command_help: str = ""
    required: bool = False
    is_usage: bool = False
    key: str = ""
    in_link: bool = True
    changes_result: bool = True
    not_on_form: str = ""
    not_on_command: str = ""

    def read(self, value: object) -> Any:
        """Return the value of a text, or of an unparsed value. Raise InputError with the expected form."""
        if value is None and self.default is None:
            return None
        match self.kind:
            case "flag":
                found = _FLAGS.get(str(value).lower())
                if found is None:
                    raise self._wrong(value, "yes or no")
                return found
            case "int" | "float":
                return self._in_range(self._number(value))
            case "numbers" | "weights":
                return self._numbers(value)
            case "wholes":
                return self._wholes(value)
            case "values" | "references":
                return self._pairs(value)
            case "run":
                return str(value).strip()
        if self.several:
            if not isinstance(value, str | list | tuple):
                raise self._wrong(value, self.expected)
            return tuple(map(self._text, split_names(value)))
        return Path(str(value)) if self.kind == "file" else self._text(str(value))

    def accepts(self, value: object) -> bool:
        """Return whether a value of TOML or JSON may stand here: of the right type, and what `read` reads."""
        try:
            self.read(value)
        except InputError:
            return False
        listed = value if isinstance(value, list | tuple) else [value]
        match self.kind:
            case "flag":
                return isinstance(value, bool)
            case "int" | "wholes":
                return all(type(each) is int for each in listed) and (self.kind == "int") != isinstance(value, list | tuple)
            case "float" | "numbers" | "weights":
                return all(type(each) in (int, float) for each in listed)
            case "values" | "references":
                return isinstance(value, Mapping)
        if value == self.default == "":
            return True
        return (self.several or listed[:1] == [value]) and all(isinstance(each, str) and each.strip() for each in listed)

    def read_plain(self, value: object) -> Any:
        """Return the value of a text, or of one that is of the right type already. Raise SettingError for one of another type."""
        found = self.read(value)
        given = isinstance(value, str) or (value is None and self.default is None) or isinstance(value, Path)
        if not given and not self.accepts(value):
            raise self._wrong(value, self.expected)
        return found

    @property
    def expected(self) -> str:
        """What may stand here, in words."""
        if self.kind in ("int", "float"):
            return f"{'a whole number' if self.kind == 'int' else 'a number'}{self.in_range}"
        if self.choices:
            return f"{'a list of ' if self.several else ''}{', '.join(self.named_choices)}"
        words = {
            "flag": "true or false",
            "wholes": f"a list of different whole numbers{self.in_range}",
            "numbers": f"a list of numbers{self.in_range}",
            "weights": f"a list of numbers{self.in_range}",
            "values": "a table",
            "references": "a table",
        }
        return words.get(self.kind, "a list of texts" if self.several else "a text")

    @property
    def named_choices(self) -> tuple[str, ...]:
        """The choices that have a name: without "", which says that none is chosen."""
        return tuple(filter(None, self.choices))

    @property
    def range(self) -> str:
        """The range of its numbers in words; "" without one."""
        if self.least is not None and self.most is not None:
            return f"{self.least:.15g} to {self.most:.15g}"
        ends = [
            *([f"{self.least:.15g} or more"] if self.least is not None else []),
            *([f"more than {self.above:.15g}"] if self.above is not None else []),
            *([f"at most {self.most:.15g}"] if self.most is not None else []),
            *([f"less than {self.below:.15g}"] if self.below is not None else []),
        ]
        return ", ".join(ends)

    @property
    def in_range(self) -> str:
        """The range as the end of a sentence; "" without one."""
        each = "" if self.kind in ("int", "float") else "each "
        return f", {each}{self.range}" if self.range else ""

    @property
    def lowest(self) -> float | None:
        """The lowest number that may stand here; None without an end."""
        return self.least if self.above is None else math.nextafter(self.above, math.inf)

    @property
    def highest(self) -> float | None:
        """The highest number that may stand here; None without an end."""
        return self.most if self.below is None else math.nextafter(self.below, -math.inf)

    @property
    def titles(self) -> dict[str, str]:
        """The choices on a form, each with its title."""
        return {choice: (self.words or {}).get(choice, choice) for choice in self.choices}

    @property
    def option(self) -> str:
        """The option on the command line."""
        return self.flag or f"--{'no-' if self.negates else ''}{self.name.replace('_', '-')}"

    @property
    def option_help(self) -> str:
        """What the option does, in --help."""
        usual = f"Say no to what is so by default: {self.help[:1].lower()}{self.help[1:]}" if self.negates else self.help
        return self.command_help or usual

    @property
    def is_needed(self) -> bool:
        """Whether the command has to be given it."""
        return self.required or self.default is MISSING

    @property
    def is_repeated(self) -> bool:
        """Whether the command takes one option for each value."""
        return self.repeated or self.kind in ("values", "references")

    @property
    def negates(self) -> bool:
        """Whether the command's option switches off a default."""
        return self.kind == "flag" and self.default is True

    def _text(self, text: str) -> str:
        if self.choices and text not in self.choices:
            raise self._wrong(text, ", ".join(self.named_choices))
        if self.kind == "prompts" and text and not is_sha256(text):
            raise self._wrong(text, "a file of prompts, or the SHA-256 of a stored one")
        return text

    def _number(self, value: object) -> int | float:
        try:
            return int(str(value)) if self.kind == "int" else float(str(value))
        except ValueError:
            raise self._wrong(value, self.expected) from None

    def _in_range(self, number: int | float) -> int | float:
        if not _is_finite(number):
            raise self._wrong(number, f"a finite number{self.in_range}")
        if not self._holds(number):
            raise self._wrong(number, self.range)
        return number

    def _holds(self, number: float) -> bool:
        """Return whether a number is finite and in the range."""
        low, high = self.lowest, self.highest
        return _is_finite(number) and (low is None or number >= low) and (high is None or number <= high)

    def _wrong(self, got: object, expected: str) -> SettingError:
        return SettingError(self.name, f"got {got!r}, expected {expected}")

    def _numbers(self, value: object) -> tuple[float, ...]:
        wanted = len(self.default) if self.kind == "numbers" else None
        try:  # of weights none is left out
            found = tuple(map(float, split_names(value) if wanted or isinstance(value, list | tuple) else str(value).split(",")))
        except ValueError:
            found = ()
        if len(found) != (wanted or max(1, len(found))) or not all(map(self._holds, found)):
            raise self._wrong(value, f"{f'{wanted} ' if wanted else ''}numbers with commas between them{self.in_range}")
        return found

    def _wholes(self, value: object) -> tuple[int, ...]:
        try:
            found = tuple(map(int, split_names(value)))
        except ValueError:
            found = ()
        if not found or len(set(found)) < len(found) or not all(map(self._holds, found)):
            raise self._wrong(value, self.expected)
        return found

    def _pairs(self, value: object) -> dict[str, Any]:
        """Return the mapping of a mapping, or of texts such as KEY=VALUE."""
        if isinstance(value, Mapping):
            return dict(value)
        found = {}
        for text in split_names(value):
            key, equals, content = text.rpartition("=") if self.kind == "references" else text.partition("=")
            if not equals or not key.strip():
                raise InputError(f"{self.option} {text}: expected {self.metavar or 'KEY=VALUE'}")
            found[key.strip()] = content
        return found


def read_options(options: Sequence[Option], given: Mapping[str, object]) -> dict[str, Any]:
    """Return every option with its value, the default if none is given.

    Raise InputError for an unknown option or an invalid value; no SettingError, since no command has an option for it.
    """
    known = {option.name: option for option in options}
    for name in given:
        if name not in known:
            raise InputError(f"option {name!r}: not known, expected {', '.join(known) or 'none'}")
    try:
        return {name: option.read(given[name]) if name in given else option.default for name, option in known.items()}
    except SettingError as error:
        raise InputError(str(error)) from error


def _is_finite(number: float) -> bool:
    """Return whether a number is finite, also a whole one that no float can hold."""
    return -math.inf < number < math.inf


def is_sha256(text: str) -> bool:
    """Return whether a text is a SHA-256 in hexadecimal digits, in small letters."""
    return _SHA256.fullmatch(text) is not None


def split_names(names: object) -> list[str]:
    """Return the names in "a, b", or those of a list."""
    if isinstance(names, list | tuple):
        return [str(name) for name in names]
    return [name.strip() for name in str(names).split(",") if name.strip()]
