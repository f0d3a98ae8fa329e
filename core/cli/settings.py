"""The options that a command has for the settings of a record, as the record declares them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass
from functools import wraps
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

from core.base.errors import InputError, SettingError
from core.base.fields.record import options_of
from core.base.fields.setting import Option

F = TypeVar("F", bound=Callable[..., Any])
_TYPES = {bool: bool, Path: Path}  # numbers and choices are texts, which the declaration reads
_EMPTY = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Taken:
    """The settings that a command has options for. required: those that have to be given although
    they have a default."""

    record: type
    options: tuple[Option, ...]
    required: Collection[str] = ()

    def pop(self, values: dict[str, Any]) -> dict[str, Any]:
        """Take the values of the options out of a command's parameters; return what they mean, by
        the settings' names."""
        return {
            option.name: _value(option, values.pop(_parameter_name(option)))
            for option in self.options
        }

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

    def is_needed(self, option: Option) -> bool:
        """Return whether the command has to be given a setting."""
        return option.default is MISSING or option.name in self.required


def takes(
    record: type, *, without: Collection[str] = (), required: Collection[str] = ()
) -> Callable[[F], F]:
    """Give a command an option for each setting of a record, without those that are named.

    The command gets all values as `chosen`, by name, instead of the options. `taken_by` returns
    what it has. required: as of `Taken`.
    """
    options = tuple(
        each
        for each in options_of(record)
        if each.about.where != "elsewhere" and each.name not in without
    )
    taken = Taken(record, options, required)

    def decorate(command: F) -> F:
        @wraps(command)
        def run(*args: Any, **values: Any) -> Any:
            with taken.name_options():
                return command(*args, chosen=taken.pop(values), **values)

        signature = inspect.signature(command, eval_str=True)
        parameters = list(signature.parameters.values())
        at = list(signature.parameters).index("chosen")
        parameters[at : at + 1] = [
            _parameter(option, taken.is_needed(option)) for option in options
        ]
        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        run.taken = taken  # type: ignore[attr-defined]
        return run  # type: ignore[return-value]

    return decorate


def taken_by(callback: Callable[..., Any]) -> Taken | None:
    """Return the settings that a command has options for; None for a command without a record."""
    return getattr(callback, "taken", None)


def listing(settings_of: Callable[[Sequence[str]], type | None]) -> type[TyperCommand]:
    """Return a kind of command whose --help also lists what its --set takes.

    settings_of: of the words of the command, the record whose settings these are; None to list
    none.
    """

    class Listing(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            # --help is answered before any of them is read; what --help names is no method
            ctx.meta["words"] = tuple(word for word in args if word != "--help")
            return super().parse_args(ctx, args)

        def format_help(self, ctx: Any, formatter: Any) -> None:
            super().format_help(ctx, formatter)
            record = settings_of(ctx.meta["words"])
            options = () if record is None else options_of(record)
            if options:
                with formatter.section("Settings, each by --set NAME=VALUE"):
                    formatter.write_dl([(option.name, _describe(option)) for option in options])

    return Listing


def _describe(option: Option) -> str:
    """Return the meaning of a setting, its values and its default."""
    value = option.default
    usual = (
        ", ".join(map(str, value))
        if isinstance(value, tuple)
        else str(value).lower()
        if isinstance(value, bool)
        else value
    )
    default = (
        "needed" if value is MISSING else f"default {'none' if value in (None, '', ()) else usual}"
    )
    return f"{option.about.help} [{option.expected}; {default}]"


def option_help(option: Option) -> str:
    """Return what the option of a setting does, in --help."""
    help = option.about.help
    return (
        f"Say no to what is so by default: {help[:1].lower()}{help[1:]}" if option.negates else help
    )


def _parameter_name(option: Option) -> str:
    return f"{option.name}_" if iskeyword(option.name) else option.name


def _parameter(option: Option, is_needed: bool) -> inspect.Parameter:
    kind, default = _type_of(option), option.default
    if is_needed:
        default = _EMPTY
    elif option.negates:
        default = False
    elif option.is_repeated:
        default = None
    elif option.several and not option.length:
        default = ",".join(map(str, default))
    about = typer.Option(
        option.option,
        metavar=_metavar(option),
        help=option_help(option),
    )
    annotation: Any = Annotated[kind | None if default is None else kind, about]
    return inspect.Parameter(
        _parameter_name(option),
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=annotation,
    )


def _metavar(option: Option) -> str | None:
    """Return what stands for the value in --help; None for what typer says."""
    if option.about.metavar or option.choices:
        return option.about.metavar or "|".join(option.named_choices)
    if option.kind not in (int, float):
        return None
    kinds = ",".join([option.kind.__name__] * (option.length or 1))
    return f"<{kinds}>{f' [{option.range}]' if option.range else ''}"


def _type_of(option: Option) -> Any:
    if option.length:
        return tuple[(str,) * option.length]  # type: ignore[misc]
    return list[str] if option.is_repeated else _TYPES.get(option.kind, str)


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
    """Return whether a value has a form that it may not have: none of the choices, or no number."""
    if option.kind not in (int, float) or (option.several and not option.length):
        return bool(option.choices)
    try:
        tuple(map(option.kind, value if option.length else [value]))
    except ValueError:
        return True
    return False
