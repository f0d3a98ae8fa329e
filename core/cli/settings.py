"""The options that a command has for the settings of a record, as the record declares them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container
from functools import wraps
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

from core.cli.names import complete_option
from core.fields.option import Option
from core.fields.record import options_of

F = TypeVar("F", bound=Callable[..., Any])
_TYPES = {"int": int, "float": float, "flag": bool, "file": Path}
_EMPTY = inspect.Parameter.empty


def takes(record: type, only: Container[str] | None = None) -> Callable[[F], F]:
    """Give a command an option for each setting of a record, or for those named in `only`.

    The command gets all values as `chosen`, by name, instead of the options.
    """
    options = [each for each in options_of(record) if not each.not_on_command and (only is None or each.name in only)]

    def decorate(command: F) -> F:
        @wraps(command)
        def run(*args: Any, **values: Any) -> Any:
            chosen = {option.name: _value(option, values.pop(_parameter_name(option))) for option in options}
            return command(*args, chosen=chosen, **values)

        signature = inspect.signature(command, eval_str=True)
        parameters = list(signature.parameters.values())
        at = list(signature.parameters).index("chosen")
        parameters[at : at + 1] = map(_parameter, options)
        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run  # type: ignore[return-value]

    return decorate


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
    least, most = (option.least, option.most) if option.is_usage else (None, None)
    metavar = option.metavar or ("|".join(option.choices) if option.choices and not option.is_usage else None)
    about = typer.Option(
        option.option,
        metavar=metavar,
        help=option.command_help or option.help,
        min=least,
        max=most,
        autocompletion=complete_option(option),
    )
    annotation: Any = Annotated[kind | None if default is None else kind, about]
    return inspect.Parameter(_parameter_name(option), inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _type_of(option: Option) -> Any:
    if option.kind == "numbers":
        return tuple[(float,) * len(option.default)]  # type: ignore[misc]
    if option.is_repeated:
        return list[str]
    if option.choices and option.is_usage:
        return Literal[option.choices]
    return _TYPES.get(option.kind, str)


def _value(option: Option, value: Any) -> Any:
    if option.is_repeated:
        value = value or []
    return option.read(not value if option.negates else value)
