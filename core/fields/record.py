"""Records whose fields are settings: a dataclass declares its fields with `setting`, and everything else follows.

A field that is itself such a record adds its settings under their own names, unless it is a `part`: a separate table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from core.errors import InputError, SettingError
from core.fields.option import Kind, Option

R = TypeVar("R")
_ABOUT, _PART = "setting", "part"  # in the metadata of a field
_KINDS: Mapping[type, Kind] = {bool: "flag", int: "int", float: "float", str: "text", Path: "file"}


def setting(default: Any, help: str, **about: Any) -> Any:
    """Return a dataclass's field that is a setting; MISSING for one without a default.

    about: as in `Option`; its name follows from the field unless it is among them, and so does its kind where the field's type
    has one.
    """
    fresh = isinstance(default, Mapping)  # each record has a mapping of its own
    given: dict[str, Any] = {"default_factory": default.copy} if fresh else {"default": default}
    return field(**given, metadata={_ABOUT: {"help": help, "default": default, **about}})


def part(default: Any = MISSING, **about: Any) -> Any:
    """Return a dataclass's field that is a record, or a tuple of records, and a table of its own, or tables, in TOML.

    about: as of `field`.
    """
    return field(default=default, metadata={_PART: True}, **about)


def is_part(each: Field[Any]) -> bool:
    """Return whether a field was made by `part`."""
    return _PART in each.metadata


def options_of(record: Any) -> tuple[Option, ...]:
    """Return the settings of a kind of record in the order of its fields. Raise TypeError if two have one name."""
    return _options(record)


def option_of(record: Any, name: str) -> Option:
    """Return the setting of this name of a kind of record. Raise KeyError."""
    return {option.name: option for option in options_of(record)}[name]


@cache
def _options(record: Any) -> tuple[Option, ...]:
    found: list[Option] = []
    for _, option, inner in list_fields(record):
        found += [option] if option is not None else options_of(inner) if inner is not None else []
    names = [option.name for option in found]
    if len(set(names)) < len(names):
        raise TypeError(f"{record.__name__}: two settings of one name among {', '.join(sorted(names))}")
    return tuple(found)


def list_fields(record: Any) -> tuple[tuple[Field[Any], Option | None, Any], ...]:
    """Return the fields of a kind of record, each with the setting that it declares, or the record whose settings it brings."""
    return _fields(record)


@cache
def _fields(record: Any) -> tuple[tuple[Field[Any], Option | None, Any], ...]:
    hints = get_type_hints(record)
    found: list[tuple[Field[Any], Option | None, Any]] = []
    for each in fields(record):
        hint = hints[each.name]
        if _ABOUT in each.metadata:
            found.append((each, _option(each, hint), None))
        else:
            found.append((each, None, hint if is_dataclass(hint) and not is_part(each) else None))
    return tuple(found)


def make(record: type[R], chosen: Mapping[str, object], **others: Any) -> R:
    """Return a record from chosen values, as text or as they are, the rest at their defaults.

    others: its fields that are not settings. Raise InputError for an unknown setting, an invalid value, and a missing value
    without a default.
    """
    known = {option.name for option in options_of(record)}
    unknown = next((name for name in chosen if name not in known), None)
    if unknown is not None:
        raise InputError(f"setting {unknown!r}: not known, expected {', '.join(sorted(known))}")
    values = dict(others)
    for each, option, inner in list_fields(record):
        if option is not None and option.name in chosen:
            values[each.name] = option.read_plain(chosen[option.name])
        elif option is not None and option.default is MISSING:
            raise SettingError(option.name, f"got none, expected {option.expected}")
        elif inner is not None and each.name not in others:
            names = {option.name for option in options_of(inner)}
            values[each.name] = make(inner, {name: value for name, value in chosen.items() if name in names})
    return record(**values)


def check_values(record: Any) -> None:
    """Raise SettingError for the first value of a record that its setting may not have."""
    for name, value in values_of(record).items():
        option_of(type(record), name).read(value)


def values_of(record: Any) -> dict[str, Any]:
    """Return the settings of a record by name."""
    found: dict[str, Any] = {}
    for each, option, inner in list_fields(type(record)):
        value = getattr(record, each.name)
        if option is not None:
            found[option.name] = value
        elif inner is not None:
            found |= values_of(value)
    return found


def without_effect(record: Any) -> frozenset[str]:
    """Return the names of the settings of a kind of record that do not change the result."""
    return frozenset(option.name for option in options_of(record) if not option.changes_result)


def values_with_effect(record: Any) -> dict[str, Any]:
    """Return the settings of a record that belong to the identity of what is made, by name: those that change the result."""
    return keep_identity(options_of(type(record)), values_of(record))


def keep_identity(options: Sequence[Option], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that belong to the identity of what is made with them; one that is no option does."""
    known = {option.name: option for option in options}
    return {name: value for name, value in values.items() if name not in known or known[name].changes_result}


def identity_of(record: Any) -> dict[str, Any]:
    """Return the fields of a record as plain data, at any depth without settings that do not belong to the identity."""
    found = {}
    for each, option, _ in list_fields(type(record)):
        value = getattr(record, each.name)
        if option is None or option.changes_result:
            found[each.name] = _as_plain(value)
    return found


def _as_plain(value: Any) -> Any:
    """Return a value with the identities of records in the place of the records."""
    if is_dataclass(value):
        return identity_of(value)
    if isinstance(value, Mapping):
        return {key: _as_plain(inner) for key, inner in value.items()}
    return tuple(map(_as_plain, value)) if isinstance(value, list | tuple) else value


def arguments_of(record: Any) -> list[str]:
    """Return the command-line arguments of a record's settings, including defaults, since those of a later version may differ."""
    values, found = values_of(record), list[str]()
    for option in options_of(type(record)):
        if not option.not_on_command:
            found += arguments_of_option(option, values[option.name])
    return found


def arguments_of_option(option: Option, value: Any) -> list[str]:
    """Return the command-line arguments of one setting; none of a missing value."""
    if value is None:
        return []
    if option.kind == "flag":
        return [] if value == option.default else [option.option]
    if option.kind == "numbers":
        return [option.option, *map(repr, value)]
    if option.kind in ("values", "references"):
        value = [f"{key}={content}" for key, content in value.items()]
    if option.is_repeated:
        return [word for each in value for word in (option.option, str(each))]
    return [option.option, ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]


def choices_of(kind: Any) -> tuple[str, ...]:
    """Return the values of a Literal; none of any other type."""
    return tuple(map(str, get_args(kind))) if get_origin(kind) is Literal else ()


def _option(each: Field[Any], hint: Any) -> Option:
    """Return the setting that a field of a dataclass declares."""
    hint = without_none(hint)
    kind = get_args(hint)[0] if get_origin(hint) is tuple else hint
    about = {"name": each.name, "choices": choices_of(kind), **each.metadata[_ABOUT]}
    if "kind" not in about:
        about["kind"] = _kind_of(each.name, hint, kind, about["choices"])
    about["several"] = get_origin(hint) is tuple and about["kind"] not in ("numbers", "wholes", "weights")
    return Option(**about)


def _kind_of(name: str, hint: Any, kind: Any, choices: Sequence[str]) -> Kind:
    if get_origin(hint) is tuple and kind in (str, int, float):
        return "text" if kind is str else "wholes" if kind is int else "numbers"
    if choices:
        return "choice"
    if get_origin(hint) is Mapping:
        return "values"
    if kind not in _KINDS:
        raise TypeError(
            f"{name}: a setting cannot be {kind}; expected one of {', '.join(map(str, _KINDS))}, a Literal, a tuple or a mapping"
        )
    return _KINDS[kind]


def without_none(hint: Any) -> Any:
    """Return the type in "that or None"; any other as it is."""
    if get_origin(hint) not in (Union, UnionType):
        return hint
    left = [each for each in get_args(hint) if each is not NoneType]
    return left[0] if len(left) == 1 else hint
