"""The options that a command has for the settings of a record, as the record declares them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from core.cli.names import complete_option
from core.errors import InputError, SettingError
from core.fields.option import Option
from core.fields.record import options_of

F = TypeVar("F", bound=Callable[..., Any])
_TYPES = {"flag": bool, "file": Path}  # numbers and choices are texts, which the declaration reads
_NUMBERS: Mapping[str, Callable[[Any], Any]] = {
    "int": int,
    "float": float,
    "numbers": lambda texts: [float(text) for text in texts],
}
_EMPTY = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Taken:
    """The settings that a command has options for. without: what it leaves out, with the reason of each. no_form: why no page has
    a form."""

    record: type
    options: tuple[Option, ...]
    without: Mapping[str, str] = field(default_factory=dict)
    no_form: str = ""

    def pop(self, values: dict[str, Any]) -> dict[str, Any]:
        """Take the values of the options out of a command's parameters; return what they mean, by the settings' names."""
        return {option.name: _value(option, values.pop(_parameter_name(option))) for option in self.options}

    @contextmanager
    def name_options(self) -> Iterator[None]:
        """Say the option where an error names the setting: who typed a command knows the option."""
        try:
            yield
        except SettingError as error:
            option = next((each for each in self.options if each.name == error.name), None)
            if option is None:
                raise
            raise InputError(f"{option.option}: {error.problem}") from error


def takes(record: type, *, without: Mapping[str, str] | None = None, no_form: str = "") -> Callable[[F], F]:
    """Give a command an option for each setting of a record, without those that are named, each with its reason.

    The command gets all values as `chosen`, by name, instead of the options. `taken_by` returns what it has. no_form: why no page
    has a form of the settings.
    """
    left_out = without or {}
    options = tuple(each for each in options_of(record) if not each.not_on_command and each.name not in left_out)
    taken = Taken(record, options, left_out, no_form)

    def decorate(command: F) -> F:
        @wraps(command)
        def run(*args: Any, **values: Any) -> Any:
            with taken.name_options():
                return command(*args, chosen=taken.pop(values), **values)

        signature = inspect.signature(command, eval_str=True)
        parameters = list(signature.parameters.values())
        at = list(signature.parameters).index("chosen")
        parameters[at : at + 1] = map(_parameter, options)
        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        run.taken = taken  # type: ignore[attr-defined]
        return run  # type: ignore[return-value]

    return decorate


def taken_by(callback: Callable[..., Any]) -> Taken | None:
    """Return the settings that a command has options for; None for a command without a record."""
    return getattr(callback, "taken", None)


def _parameter_name(option: Option) -> str:
    return f"{option.name}_" if iskeyword(option.name) else option.name


def _parameter(option: Option) -> inspect.Parameter:
    kind, default = _type_of(option), option.default
    if option.is_needed:
        default = _EMPTY
    elif option.negates:
        default = False
    elif option.is_repeated:
        default = None
    elif option.several:
        default = ",".join(default)
    about = typer.Option(
        option.option,
        metavar=_metavar(option),
        help=option.option_help,
        autocompletion=complete_option(option),
    )
    annotation: Any = Annotated[kind | None if default is None else kind, about]
    return inspect.Parameter(_parameter_name(option), inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _metavar(option: Option) -> str | None:
    """Return what stands for the value in --help; None for what typer says."""
    if option.metavar or option.choices:
        return option.metavar or "|".join(option.named_choices)
    if option.kind == "numbers":
        return f"<{','.join(['float'] * len(option.default))}>"
    if option.kind in _NUMBERS:
        return f"<{option.kind}>{f' [{option.range}]' if option.is_usage and option.range else ''}"
    return None


def _type_of(option: Option) -> Any:
    if option.kind == "numbers":
        return tuple[(str,) * len(option.default)]  # type: ignore[misc]
    if option.is_repeated:
        return list[str]
    return _TYPES.get(option.kind, str)


def _value(option: Option, value: Any) -> Any:
    if option.is_repeated:
        value = value or []
    try:
        return option.read(not value if option.negates else value)
    except SettingError as error:
        if not _is_wrong_usage(option, value):
            raise
        raise typer.BadParameter(error.problem, param_hint=option.option) from error


def _is_wrong_usage(option: Option, value: Any) -> bool:
    """Return whether a value that may not stand here is wrong usage: where the option says so, and where it is no number."""
    try:
        _NUMBERS.get(option.kind, str)(value)
    except ValueError:
        return True
    return option.is_usage
