"""Records as plain data, which JSON can hold, and back. The fields of a dataclass say what may
stand in it; pydantic checks that.

A type may bring along the words for what it allows: `Annotated[int, Ge(2), "a whole number of at
least 2"]`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from core.base.errors import InputError
from core.base.texts import printable
from core.base.types import JsonObject

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

R = TypeVar("R")
Place = tuple[str | int, ...]  # of a value: ("arms", 1, "name")
_WORDS: Mapping[Any, tuple[str, str]] = {
    str: ("a text", "texts"),
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    bool: ("true or false", "true or false"),
}
_TABLE = ("a table", "tables")
_LONGEST = 80  # characters of a wrong value or key


class Misfit(Exception):
    """The first value that cannot stand where it does. place: where, counted from 0; problem: what
    was wrong and expected."""

    def __init__(self, place: Place, problem: str) -> None:
        self.place, self.problem = place, problem
        named = ".".join(
            str(part + 1) if isinstance(part, int) else printable(part)[:_LONGEST] for part in place
        )
        super().__init__(f"{named} {problem}" if named else problem)


def to_json(record: Any) -> JsonObject:
    """Return plain data from which `from_json` makes an equal record: its fields in their order,
    tuples as lists."""
    found: JsonObject = adapter(cast("Any", type(record))).dump_python(record, mode="json")
    return found


def from_json(kind: type[R], values: object, what: str) -> R:
    """Return the record that `to_json` was given. what: it is, for errors.

    Raise InputError for an unknown, missing or other value than the fields of the record have.
    """
    try:
        return fit(kind, values)
    except Misfit as error:
        raise InputError(f"{what} cannot be read: {error}") from error


def parse(
    kind: type[R],
    content: str | bytes,
    what: str,
    *,
    unknown: Literal["forbid", "ignore"] = "forbid",
) -> R:
    """Return what a JSON text says, as a type. Raise InputError as `from_json`. unknown: what to do
    with keys of no field."""
    try:
        text = (
            content if isinstance(content, str) else content.decode(json.detect_encoding(content))
        )
        return _fit_text(kind, text, unknown)
    except UnicodeDecodeError as error:
        raise InputError(f"{what} cannot be read: {error}, expected JSON in UTF-8") from error
    except Misfit as error:
        raise InputError(f"{what} cannot be read: {error}") from error


def fit(kind: type[R], values: object) -> R:
    """Return values as a type, such as a dataclass; lists become tuples. Raise Misfit for the first
    that does not fit."""
    try:
        text = json.dumps(values, default=_refuse)
    except RecursionError as error:
        raise Misfit((), "is nested too deeply") from error
    return _fit_text(kind, text, "forbid")


def _fit_text(kind: type[R], text: str, unknown: Literal["forbid", "ignore"]) -> R:
    from pydantic import ValidationError

    try:
        return cast(
            "R", adapter(cast("Any", kind)).validate_json(text, strict=True, extra=unknown)
        )  # strict: "5" is not a number
    except ValidationError as error:
        raise _misfit(kind, error) from error


def _refuse(value: object) -> None:
    raise Misfit(
        (),
        f"holds {value} ({type(value).__name__}), expected texts, numbers, true or false, lists and"
        " tables",
    )


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Return what checks and writes a type. Pydantic is imported here: `--help` does without its
    100 ms."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _misfit(kind: Any, error: ValidationError) -> Misfit:
    """Return the first thing that pydantic found, in words; an unknown key first: a misspelt key is
    missing, too."""
    found = error.errors(include_url=False)
    first = next(
        (each for each in found if each["type"] == "unexpected_keyword_argument"), found[0]
    )
    place: Place = first["loc"]
    if first["type"] == "json_invalid":
        return Misfit((), f"is no JSON ({first['ctx']['error']}), expected {_describe(kind)}")
    if first["type"] == "unexpected_keyword_argument":
        return Misfit(
            place, f"is not known, expected {', '.join(_fields_of(_type_at(kind, place[:-1])))}"
        )
    in_list, is_missing = bool(place) and isinstance(place[-1], int), first["type"] == "missing"
    at = _type_at(kind, place[:-1] if in_list and is_missing else place)
    expected = f"expected {_describe(at)}"
    if is_missing and not in_list:
        return Misfit(place, f"is missing, {expected}")
    # a list has a key, and so a line in a file; its values have none
    of_list = in_list and not is_dataclass(at)
    verb = "has" if of_list and not is_missing else "is"
    return Misfit(
        place[:-1] if of_list else place, f"{verb} {first['input']!r:.{_LONGEST}}, {expected}"
    )


def _type_at(kind: Any, place: Place) -> Any:
    """Return the type of a value in a record."""
    for part in place:
        kind, _ = unwrap(kind)
        if is_dataclass(kind):
            kind = _fields_of(kind)[str(part)]
        else:
            inner = [each for each in get_args(kind) if each is not Ellipsis]
            kind = (
                inner[part]
                if get_origin(kind) is tuple and isinstance(part, int) and part < len(inner)
                else inner[-1]
            )
    return kind


def _fields_of(kind: Any) -> JsonObject:
    """Return the type of each field of a dataclass, with what `Annotated` says of it."""
    return get_type_hints(kind, include_extras=True)


def _describe(kind: Any) -> str:
    """Return what a type allows, in words."""
    if get_origin(kind) is Annotated:
        return next((each for each in kind.__metadata__ if isinstance(each, str)), "") or _describe(
            kind.__origin__
        )
    if NoneType in get_args(kind):
        return f"{_describe(get_args(kind)[0])}, or nothing"
    if is_dataclass(kind):
        return f"a table with {', '.join(_fields_of(kind))}"
    if get_origin(kind) is Literal:
        return ", ".join(map(str, get_args(kind)))
    if get_origin(kind) in (tuple, list):
        return f"a list of {_WORDS.get(get_args(kind)[0], _TABLE)[1]}"
    return _WORDS.get(kind, _TABLE)[0]


def unwrap(hint: Any) -> tuple[Any, list[Any]]:
    """Return a type without None, or the first of a union, and what `Annotated` says of it, the
    innermost first."""
    metadata: list[Any] = []
    while get_origin(hint) in (Annotated, Union, UnionType):
        if get_origin(hint) is Annotated:
            metadata = [*hint.__metadata__, *metadata]
        hint = get_args(hint)[0]
    return hint, metadata
