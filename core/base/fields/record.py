"""Records whose fields are settings: a dataclass declares each by its type, and everything else
follows.

A field that is itself such a record adds its settings under their own names, unless it is a `part`:
a separate table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, cast, get_type_hints

from core.base.errors import InputError, SettingError
from core.base.fields.setting import Option, option_of_field

R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
_PART = "part"  # in the metadata of a field
# a class has a hash, which the declared type of `cache` does not know
_cached: Callable[[F], F] = cast(Any, cache)


@dataclass(frozen=True)
class NoSettings:
    """The settings of what has none."""


def part(default: Any = MISSING, **about: Any) -> Any:
    """Return a dataclass's field that is a record, or a tuple of records, and a table of its own,
    or tables, in TOML.

    about: as of `field`.
    """
    return field(default=default, metadata={_PART: True}, **about)


def is_part(each: Field[Any]) -> bool:
    """Return whether a field was made by `part`."""
    return _PART in each.metadata


@_cached
def options_of(record: Any) -> tuple[Option, ...]:
    """Return the settings of a kind of record in the order of its fields. Raise TypeError if two
    have one name."""
    found: list[Option] = []
    for _, option, inner in list_fields(record):
        found += [option] if option is not None else options_of(inner) if inner is not None else []
    names = [option.name for option in found]
    if len(set(names)) < len(names):
        raise TypeError(
            f"{record.__name__}: two settings of one name among {', '.join(sorted(names))}"
        )
    return tuple(found)


def option_of(record: Any, name: str) -> Option:
    """Return the setting of this name of a kind of record. Raise KeyError."""
    for option in options_of(record):
        if option.name == name:
            return option
    raise KeyError(name)


@_cached
def list_fields(record: Any) -> tuple[tuple[Field[Any], Option | None, Any], ...]:
    """Return the fields of a kind of record, each with the setting that it declares, or the record
    whose settings it brings."""
    hints = get_type_hints(record, include_extras=True)
    found = []
    for each in fields(record):
        option, hint = option_of_field(each, hints[each.name]), hints[each.name]
        found.append(
            (
                each,
                option,
                hint if option is None and is_dataclass(hint) and not is_part(each) else None,
            )
        )
    return tuple(found)


def make(record: type[R], chosen: Mapping[str, object], **others: Any) -> R:
    """Return a record from chosen values, as text or as they are, the rest at their defaults.

    others: its fields that are not settings. Raise InputError for an unknown setting, an invalid
    value, and a missing value without a default.
    """
    return build(record, _read(record, chosen), others)


def build(record: type[R], values: Mapping[str, Any], others: Mapping[str, Any]) -> R:
    """Return a record of settings that were read, by name, the rest at their defaults. others: its
    other fields."""
    own = dict(others)
    for each, option, inner in list_fields(record):
        if option is not None and option.name in values:
            own[each.name] = values[option.name]
        elif option is not None and option.default is MISSING:
            raise SettingError(option.name, f"got none, expected {option.expected}")
        elif inner is not None and each.name not in others:
            own[each.name] = build(inner, values, {})
    return record(**own)


def read_options(record: type, given: Mapping[str, object]) -> dict[str, Any]:
    """Return every setting of a kind of record by name with its value, the default if none is
    given.

    Raise InputError for an unknown option or an invalid value; no SettingError, since no command
    has an option for it.
    """
    try:
        return {option.name: option.default for option in options_of(record)} | _read(record, given)
    except SettingError as error:
        raise InputError(str(error)) from error


def _read(record: type, given: Mapping[str, object]) -> dict[str, Any]:
    """Return the values that are given, by name. Raise InputError for an unknown setting or an
    invalid value."""
    known = {option.name: option for option in options_of(record)}
    for name in given:
        if name not in known:
            raise InputError(f"setting {name!r}: not known, expected {', '.join(known) or 'none'}")
    return {name: known[name].read(value) for name, value in given.items()}


def check_values(record: Any) -> None:
    """Raise SettingError for the first value of a record that its setting may not have."""
    for each, option, inner in list_fields(type(record)):
        if option is not None:
            option.read(getattr(record, each.name))
        elif inner is not None:
            check_values(getattr(record, each.name))


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
    return frozenset(
        option.name for option in options_of(record) if not option.about.changes_result
    )


def values_with_effect(record: Any) -> dict[str, Any]:
    """Return the settings of a record that belong to the identity of what is made, by name: those
    that change the result."""
    return keep_identity(type(record), values_of(record))


def keep_identity(record: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that belong to the identity of what is made with them; one that is no
    setting of the record does."""
    left_out = without_effect(record)
    return {name: value for name, value in values.items() if name not in left_out}


def identity_of(record: Any) -> dict[str, Any]:
    """Return the fields of a record as plain data, at any depth without settings that do not belong
    to the identity.

    One that was added later counts where it is not at its default, so that older identities stay.
    """
    found = {}
    for each, option, _ in list_fields(type(record)):
        value = getattr(record, each.name)
        if option is None or (
            option.about.changes_result and not (option.about.added and value == option.default)
        ):
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
    """Return the command-line arguments of a record's settings, including defaults, since those of
    a later version may differ."""
    values, found = values_of(record), list[str]()
    for option in options_of(type(record)):
        if option.about.where != "elsewhere":
            found += arguments_of_option(option, values[option.name])
    return found


def arguments_of_option(option: Option, value: Any) -> list[str]:
    """Return the command-line arguments of one setting; none of a missing value."""
    if value is None:
        return []
    if option.kind is bool:
        return [] if value == option.default else [option.option]
    if option.length:
        return [option.option, *map(repr, value)]
    if option.kind is Mapping:
        value = [f"{key}={content}" for key, content in value.items()]
    if option.is_repeated:
        return [word for each in value for word in (option.option, str(each))]
    return [option.option, ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]
