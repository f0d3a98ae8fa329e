"""A command line that imports the module of the command that is run, and no other, and gives it the
option --json."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from core.base.feature import PANELS, resolve
from core.features import features

_WITHOUT_JSON = ("serve", "serve-app", "work", "worker")


class Output:
    """How a command prints. as_json: its result as one JSON object. progress: also where standard
    error is no terminal."""

    as_json = False
    progress = False


class LazyGroup(TyperGroup):
    """The commands of all features, each imported when it is run."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        brought = [entry for feature in features().values() for entry in feature.commands.items()]
        self._entries = dict(sorted(brought, key=lambda entry: PANELS.index(entry[1].panel)))
        for name, entry in self._entries.items():
            self.add_command(
                TyperCommand(
                    name, help=entry.about, rich_help_panel=entry.panel, hidden=entry.is_hidden
                )
            )

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the imported command named by the arguments, and the remaining arguments."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, self.import_command(str(name)), rest

    def settles(self, name: str | None) -> bool:
        """Return whether the command of a name records what died before it opens the store."""
        return name not in self._entries or self._entries[name].settles

    def import_command(self, name: str) -> Any:
        """Return the command, or the group of commands, of that name."""
        entry = self._entries[name]
        group = _with_json(get_group(resolve(entry.app)))
        if name in group.commands:
            return group.commands[name]
        group.name, group.help = name, entry.about
        return group


def _with_json(command: Any) -> Any:
    """Return a command, or a group, with the option --json for all that print a result."""
    for inner in getattr(command, "commands", {}).values():
        _with_json(inner)
    if getattr(command, "invoke_without_command", True) and command.name not in _WITHOUT_JSON:
        # typer has no public way to make an option but from a function
        app = typer.Typer(add_completion=False)
        app.command()(_take_json)
        [option] = get_command(app).params
        option.expose_value = False
        command.params.append(option)
    return command


def _take_json(
    _as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object.",
            callback=lambda value: setattr(Output, "as_json", value),
        ),
    ] = False,
) -> None:
    pass
