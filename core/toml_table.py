"""Reads records out of a TOML file with errors that name the file, the line and the key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from annotated_types import Ge, MinLen, Predicate
from pydantic import BeforeValidator

from core.errors import InputError
from core.file_io import read_file
from core.records import Misfit, Place, fit

MOST_BYTES = 1 << 20
MOST_LEVELS = 100
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""\s*["']?([\w-]+)["']?\s*=""")

R = TypeVar("R")


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


LISTED = BeforeValidator(_listed)  # one text may stand for a list of one
Text = Annotated[str, Predicate(str.strip), "a text"]
Texts = Annotated[tuple[Text, ...], LISTED, "a list of texts"]
Wholes = Annotated[
    tuple[Annotated[int, Ge(0)], ...],
    MinLen(1),
    Predicate(lambda each: len(set(each)) == len(each)),
    "a list of different whole numbers of at least 0",
]


@dataclass(frozen=True, slots=True)
class TomlFile:
    """What a file holds. lines: place → line number, counted from 1."""

    file: str
    values: Mapping[str, Any]
    lines: Mapping[Place, int]

    def error(self, message: str, *place: str | int) -> InputError:
        """An error about the value at a place; its line is that of the innermost table or key of it that is there."""
        line = next((self.lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in self.lines), None)
        return InputError(f"{self.file}{f', line {line}' if line else ''}: {Misfit(place, message)}")

    def read(self, kind: type[R], **others: object) -> R:
        """A dataclass of the file's values. others: fields that the file must not hold.

        Raises InputError, with file, line and key, for the first unknown key or other value than the fields may have.
        """
        known = set(self.values) & set(others)
        if known:
            raise self.error("is not known", known.pop())
        try:
            return fit(kind, {**self.values, **others})
        except Misfit as error:
            raise self.error(error.problem, *error.place) from error
        except InputError as error:
            raise InputError(f"{self.file}: {error}") from error


def read_toml(path: Path) -> TomlFile:
    """What a file holds. Raises InputError if it cannot be read or is no TOML."""
    try:
        text = read_file(path, MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read as UTF-8 ({error}), expected a TOML file") from error
    return parse_toml(text, str(path))


def parse_toml(text: str, file: str) -> TomlFile:
    """The same of a text; file: what errors call it."""
    return TomlFile(file, load_toml(text, file), _find_lines(text))


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
