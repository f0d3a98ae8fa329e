"""The options that a command has for the settings of a record, as the record declares them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from core.fields.option import Option
from core.fields.record import options_of

F = TypeVar("F", bound=Callable[..., Any])
_TYPES = {"int": int, "float": float, "flag": bool, "file": Path}


def takes(record: type, only: Container[str] | None = None) -> Callable[[F], F]:
    """Give a command an option for each setting of a record, or for those named in `only`.

    The command gets what was chosen as `chosen`, by name, in the place of the options; each setting is in it.
    """
    options = [each for each in options_of(record) if not each.not_on_command and (only is None or each.name in only)]

    def decorate(command: F) -> F:
        @wraps(command)
        def run(*args: Any, **values: Any) -> Any:
            chosen = {option.name: _value(option, values.pop(option.name)) for option in options}
            return command(*args, chosen=chosen, **values)

        signature = inspect.signature(command, eval_str=True)
        own = [each for name, each in signature.parameters.items() if name != "chosen"]
        added = [_parameter(option) for option in options]
        first = [each for each in own if each.default is inspect.Parameter.empty]
        later = [each for each in own if each.default is not inspect.Parameter.empty]
        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*first, *added, *later)]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run  # type: ignore[return-value]

    return decorate


def _parameter(option: Option) -> inspect.Parameter:
    kind: Any = _TYPES.get(option.kind, str)
    default = option.default
    if option.kind == "numbers":
        kind = tuple[(float,) * len(default)]  # type: ignore[misc]
    if option.negates:
        default = False
    metavar = option.metavar or ("|".join(option.choices) if option.choices else None)
    about = typer.Option(option.option, metavar=metavar, help=option.help)
    annotation: Any = Annotated[kind | None if default is None else kind, about]
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _value(option: Option, value: Any) -> Any:
    return option.read(not value if option.negates else value)
