"""Reads values out of a TOML file with errors that name the file, the line and the key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import InputError
from core.file_io import read_file

MOST_BYTES = 1 << 20
MOST_LEVELS = 100
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""\s*["']?([\w-]+)["']?\s*=""")

Place = tuple[str | int, ...]  # of a table or a key: ("arms", 1, "name")


@dataclass(frozen=True, slots=True)
class TomlTable:
    """One table of a file. lines: place → line number, counted from 1."""

    file: str
    values: Mapping[str, Any]
    lines: Mapping[Place, int]
    place: Place = ()

    def error(self, key: str, message: str) -> InputError:
        """An error about a key, or about the table itself if the key is not there."""
        line = self.lines.get((*self.place, key)) or self.lines.get(self.place)
        where = f"{self.file}, line {line}" if line else self.file
        named = ".".join(str(part + 1) if isinstance(part, int) else part for part in (*self.place, key))
        return InputError(f"{where}: {named} {message}")

    def refuse_unknown(self, known: Iterable[str]) -> None:
        """Raises InputError for the first key that is none of `known`."""
        names = tuple(known)
        for key in self.values:
            if key not in names:
                raise self.error(key, f"is not known, expected {', '.join(names)}")

    def text(self, key: str, default: str | None = None, choices: Sequence[str] = ()) -> str:
        """A text; one of `choices` if there are any. Without a default the key has to be there."""
        value = self._value(key, default, "a text")
        if not isinstance(value, str) or (key in self.values and not value.strip()):
            raise self.error(key, f"is {value!r}, expected a text")
        if choices and value not in choices:
            raise self.error(key, f"is {value!r}, expected {', '.join(choices)}")
        return value

    def number(self, key: str, default: float | None = None, least: float = 0.0, most: float = 1.0) -> float:
        """A number from `least` to `most`."""
        value = self._value(key, default, f"a number from {least:g} to {most:g}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise self.error(key, f"is {value!r}, expected a number from {least:g} to {most:g}")
        return float(value)

    def whole(self, key: str, default: int | None = None, least: int = 0) -> int:
        """A whole number of at least `least`."""
        value = self._value(key, default, f"a whole number of at least {least}")
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.error(key, f"is {value!r}, expected a whole number of at least {least}")
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """true or false."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self.error(key, f"is {value!r}, expected true or false")
        return value

    def wholes(self, key: str, default: Sequence[int] | None = None) -> tuple[int, ...]:
        """Different whole numbers of at least 0, one or more."""
        value = self._value(key, default, "a list of whole numbers")
        right = isinstance(value, list | tuple) and all(isinstance(x, int) and not isinstance(x, bool) and x >= 0 for x in value)
        if not right or not value or len(set(value)) < len(value):
            raise self.error(key, f"is {value!r}, expected a list of different whole numbers of at least 0")
        return tuple(value)

    def texts(self, key: str, default: Sequence[str] | None = None, choices: Sequence[str] = ()) -> tuple[str, ...]:
        """Texts, each one of `choices` if there are any; one text may stand for a list of one."""
        value = self._value(key, default, "a list of texts")
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list | tuple) or not all(isinstance(x, str) and x.strip() for x in found):
            raise self.error(key, f"is {value!r}, expected a list of texts")
        unknown = next((x for x in found if choices and x not in choices), None)
        if unknown is not None:
            raise self.error(key, f"has {unknown!r}, expected {', '.join(choices)}")
        return tuple(found)

    def table(self, key: str) -> TomlTable | None:
        """The table of this name; None without one."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.error(key, f"is {value!r}, expected a table [{key}]")
        return TomlTable(self.file, value, self.lines, (*self.place, key))

    def tables(self, key: str) -> list[TomlTable]:
        """The tables [[key]] in order; none without any."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(x, Mapping) for x in value):
            raise self.error(key, f"is {value!r}, expected tables [[{key}]]")
        return [TomlTable(self.file, each, self.lines, (*self.place, key, i)) for i, each in enumerate(value)]

    def _value(self, key: str, default: Any, expected: str) -> Any:
        if key in self.values:
            return self.values[key]
        if default is None:
            raise self.error(key, f"is missing, expected {expected}")
        return default


def read_toml(path: Path) -> TomlTable:
    """The whole file as a table. Raises InputError if it cannot be read or is no TOML."""
    try:
        text = read_file(path, MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read as UTF-8 ({error}), expected a TOML file") from error
    return parse_toml(text, str(path))


def parse_toml(text: str, file: str) -> TomlTable:
    """The same of a text; file: what errors call it."""
    return TomlTable(file, load_toml(text, file), _find_lines(text))


def load_toml(text: str, file: str) -> dict[str, Any]:
    """Return what a TOML text says. Raise InputError for anything else, and for values that are nested too deeply."""
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else error
        raise InputError(f"{file}: {problem}, expected TOML") from error
    level: list[Any] = [values]
    for _ in range(MOST_LEVELS):
        level = [inner for outer in level for inner in _inner(outer)]
    if level:  # dotted keys nest tables without end, and nothing could print them
        raise InputError(f"{file}: nested too deeply, expected TOML of at most {MOST_LEVELS} levels")
    return values


def _inner(value: Any) -> list[Any]:
    """Return the tables and lists in a value."""
    found = value.values() if isinstance(value, dict) else value
    return [each for each in found if isinstance(each, dict | list)]


def _find_lines(text: str) -> dict[Place, int]:
    """Where each table and each key begins. Keys inside an inline table count as where that stands."""
    lines: dict[Place, int] = {}
    counts: dict[str, int] = {}
    table: Place = ()
    for number, line in enumerate(text.splitlines(), 1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if key is not None:
            lines.setdefault((*table, key[1]), number)
        elif header is not None:
            name = header[2]
            first, *rest = (part.strip().strip("\"'") for part in name.split("."))
            if header[1] == "[[":
                counts[name] = counts.get(name, -1) + 1
                table = (*name.split("."), counts[name])
            else:
                table = (first, counts[first], *rest) if first in counts else (first, *rest)
            lines.setdefault(table, number)
    return lines
