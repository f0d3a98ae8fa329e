"""Read settings out of a TOML file, with errors that name the file, the line and the key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from core.base.errors import InputError, SettingError
from core.base.fields.record import build, is_part, list_fields, options_of
from core.base.fields.setting import Option
from core.base.file_io import read_file
from core.base.records import unwrap
from core.base.types import JsonObject

R = TypeVar("R")
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

    def error(self, key: str, message: str, between: str = " ") -> InputError:
        """Return an error about a key, or about the table itself if the key is not there.

        between: what stands between the key and the message.
        """
        named = ".".join(
            str(part + 1) if isinstance(part, int) else part for part in (*self.place, key)
        )
        return InputError(f"{self._where(key)}: {named}{between}{message}")

    def _where(self, *key: str) -> str:
        """Return the file with the line of a key, or of the table itself."""
        line = self.lines.get((*self.place, *key)) or self.lines.get(self.place)
        return f"{self.file}, line {line}" if line else self.file

    def refuse_unknown(self, known: Iterable[str]) -> None:
        """Raise InputError for the first key that is not in `known`."""
        names = tuple(known)
        for key in self.values:
            if key not in names:
                raise self.error(key, f"is not known, expected {', '.join(names)}")

    def value(self, option: Option) -> Any:
        """Return the value of a setting, or its default. Raise InputError for an invalid or missing
        value."""
        key = option.name
        if key not in self.values:
            if option.default is MISSING:
                raise self.error(key, f"is missing, expected {option.expected}")
            return option.default
        given = self.values[key]
        # one text may stand for a list of one
        value = [given] if option.several and isinstance(given, str) else given
        try:
            return option.read(value, typed=False)
        except SettingError as error:
            raise self.error(key, f"is {error.problem.removeprefix('got ')}") from error

    def record(self, record: type[R], **others: Any) -> R:
        """Return a record of settings, each read from the key of its name; a part of it from the
        table, or tables, of its name.

        others: its fields that are not read. Raise InputError for a key that is no setting.
        """
        parts = [each.name for each, _, _ in list_fields(record) if is_part(each)]
        self.refuse_unknown((*(option.name for option in options_of(record)), *parts))
        values = {option.name: self.value(option) for option in options_of(record)}
        hints = get_type_hints(record)
        read = {
            name: self._part(name, unwrap(hints[name])[0])
            for name in parts
            if name not in others and name in self.values
        }
        try:
            return build(record, values, {**read, **others})
        except SettingError as error:
            raise self.error(error.name, error.problem, between=": ") from error
        except InputError as error:
            raise InputError(f"{self._where()}: {error}") from error

    def _part(self, key: str, kind: Any) -> Any:
        """Return the record of the table of this name, or the records of its tables."""
        if get_origin(kind) is tuple:
            return tuple(table.record(get_args(kind)[0]) for table in self.tables(key))
        table = self.table(key)
        return table and table.record(kind)

    def table(self, key: str) -> TomlTable | None:
        """Return the table of this name; None without one."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.error(key, f"is {value!r}, expected a table [{key}]")
        return TomlTable(self.file, value, self.lines, (*self.place, key))

    def tables(self, key: str) -> list[TomlTable]:
        """Return the tables [[key]] in order; none without any."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(x, Mapping) for x in value):
            raise self.error(key, f"is {value!r}, expected tables [[{key}]]")
        return [
            TomlTable(self.file, each, self.lines, (*self.place, key, i))
            for i, each in enumerate(value)
        ]


def read_toml(path: Path) -> TomlTable:
    """Return the whole file as a table. Raise InputError if it cannot be read or is no TOML."""
    try:
        text = read_file(path, MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: cannot be read as UTF-8 ({error}), expected a TOML file"
        ) from error
    return parse_toml(text, str(path))


def parse_toml(text: str, file: str) -> TomlTable:
    """Return the same of a text; file: what errors call it."""
    return TomlTable(file, _load_toml(text, file), _find_lines(text))


def _load_toml(text: str, file: str) -> JsonObject:
    """Return the content of a TOML text. Raise InputError for other texts, and for values nested
    too deeply."""
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also of numbers with 5,000 digits
        problem = "nested too deeply" if isinstance(error, RecursionError) else error
        raise InputError(f"{file}: {problem}, expected TOML") from error
    level: list[Any] = [values]
    for _ in range(MOST_LEVELS):
        level = [inner for outer in level for inner in _inner(outer)]
    if level:  # dotted keys nest tables without end, and nothing could print them
        raise InputError(
            f"{file}: nested too deeply, expected TOML with at most {MOST_LEVELS} levels"
        )
    return values


def _inner(value: Any) -> list[Any]:
    """Return the tables and lists in a value."""
    found = value.values() if isinstance(value, dict) else value
    return [each for each in found if isinstance(each, dict | list)]


def _find_lines(text: str) -> dict[Place, int]:
    """Return where each table and each key begins. Keys inside an inline table count as where that
    stands."""
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
