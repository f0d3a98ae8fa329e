"""Records whose fields are settings: a dataclass says with `setting` what each of its fields may be, and all else follows.

A field that is itself such a record brings its settings along, under their own names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from core.errors import InputError
from core.fields.option import Kind, Option

R = TypeVar("R")
_ABOUT = "setting"  # in the metadata of a field
_KINDS: Mapping[type, Kind] = {bool: "flag", int: "int", float: "float", str: "text", Path: "file"}


def setting(default: Any, help: str, **about: Any) -> Any:
    """Return a dataclass's field that is a setting.

    about: as in `Option`; its name follows from the field, and so does its kind where the field's type has one.
    """
    return field(default=default, metadata={_ABOUT: {"help": help, **about}})


def options_of(record: Any) -> tuple[Option, ...]:
    """Return the settings of a kind of record in the order of its fields. Raise TypeError if two have one name."""
    return _options(record)


@cache
def _options(record: Any) -> tuple[Option, ...]:
    hints = get_type_hints(record)
    found: list[Option] = []
    for each in fields(record):
        if _ABOUT in each.metadata:
            found.append(_option(each, hints[each.name]))
        elif is_dataclass(hints[each.name]):
            found += options_of(hints[each.name])
    names = [option.name for option in found]
    if len(set(names)) < len(names):
        raise TypeError(f"{record.__name__}: two settings of one name among {', '.join(sorted(names))}")
    return tuple(found)


def make(record: type[R], chosen: Mapping[str, object], **others: Any) -> R:
    """Return a record from chosen values, as text or as they are, the rest at their defaults.

    others: its fields that are no settings. Raise InputError for an unknown setting, and for a value that cannot be.
    """
    known = {option.name for option in options_of(record)}
    unknown = next((name for name in chosen if name not in known), None)
    if unknown is not None:
        raise InputError(f"setting {unknown!r}: not known, expected {', '.join(sorted(known))}")
    hints, values = get_type_hints(record), dict(others)
    for each in fields(record):  # type: ignore[arg-type]
        if _ABOUT in each.metadata:
            if each.name in chosen:
                values[each.name] = _option(each, hints[each.name]).read(chosen[each.name])
        elif each.name not in others and is_dataclass(hints[each.name]):
            inner: Any = hints[each.name]
            names = {option.name for option in options_of(inner)}
            values[each.name] = make(inner, {name: value for name, value in chosen.items() if name in names})
    return record(**values)


def values_of(record: Any) -> dict[str, Any]:
    """Return the settings of a record by name."""
    found: dict[str, Any] = {}
    for each in fields(record):
        value = getattr(record, each.name)
        if _ABOUT in each.metadata:
            found[each.name] = value
        elif is_dataclass(value):
            found |= values_of(value)
    return found


def without_effect(record: Any) -> frozenset[str]:
    """Return the names of the settings of a kind of record that do not change the result."""
    return frozenset(option.name for option in options_of(record) if not option.changes_result)


def arguments_of(record: Any) -> list[str]:
    """Return what sets a record's settings on the command line, defaults too: those of a later version may be others."""
    values, found = values_of(record), list[str]()
    for option in options_of(type(record)):
        value = values[option.name]
        if value is None or option.not_on_command or (option.kind == "flag" and value == option.default):
            continue
        found.append(option.option)
        if option.kind == "numbers":
            found += [repr(each) for each in value]
        elif option.kind != "flag":
            found.append(str(value))
    return found


def choices_of(kind: Any) -> tuple[str, ...]:
    """Return the values of a Literal; none of any other type."""
    return tuple(map(str, get_args(kind))) if get_origin(kind) is Literal else ()


def _option(each: Field[Any], hint: Any) -> Option:
    """Return the setting that a field of a dataclass declares."""
    kind = _without_none(hint)
    about = {"choices": choices_of(kind), **each.metadata[_ABOUT]}
    named = about.pop("kind", None)
    return Option(each.name, named or _kind_of(each.name, kind, about["choices"]), each.default, **about)


def _kind_of(name: str, kind: Any, choices: Sequence[str]) -> Kind:
    if choices:
        return "choice"
    if get_origin(kind) is tuple:
        return "numbers"
    if kind not in _KINDS:
        raise TypeError(
            f"{name}: a setting cannot be {kind}; expected one of {', '.join(map(str, _KINDS))}, a Literal or numbers"
        )
    return _KINDS[kind]


def _without_none(hint: Any) -> Any:
    if get_origin(hint) not in (Union, UnionType):
        return hint
    left = [part for part in get_args(hint) if part is not NoneType]
    return left[0] if len(left) == 1 else hint
