"""What every command shares: the application, its workspace, and how results are printed.

The module of the command that is run is imported, and no other; each command has the option --json.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from core.base import log
from core.base.config import load_settings
from core.base.environment import describe
from core.base.feature import PANELS, resolve
from core.base.result import Result, plain, to_json
from core.base.texts import cell_text, printable, shorten, table_lines
from core.features import features

if TYPE_CHECKING:
    from core.store.runs import Run


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


app = typer.Typer(cls=LazyGroup, no_args_is_help=True, pretty_exceptions_enable=False)

_LONGEST_LINE = 1_500  # characters of a line on standard error
Detach = Annotated[
    bool, typer.Option("--detach", help="Return at once; a worker process continues.")
]
Out = Annotated[Path, typer.Option(help="The file to write.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace what is there already.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"perturbdesk {describe()}")
        raise typer.Exit


@app.callback()
def workspace(
    context: typer.Context,
    folder: Annotated[
        Path | None, typer.Option("--workspace", help="The folder that holds data/ and cache/.")
    ] = None,
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version and the commit.",
            is_eager=True,
            callback=_print_version,
        ),
    ] = False,
    progress: Annotated[
        bool,
        typer.Option("--progress", help="Print progress even if standard error is not a terminal."),
    ] = False,
) -> None:
    """The workbench for debates, neighbours and fusions over (perturbation, gene) pairs."""
    from core.runs.workspace import open_workspace  # brings the store, which --help does without

    Output.progress = progress
    opened = open_workspace(load_settings(folder))
    assert isinstance(context.command, LazyGroup)
    before_use = None
    settles = context.command.settles(context.invoked_subcommand)
    if settles and opened.settings.store_file.exists():  # without a store nothing has died
        from core.runs.jobs.overview import SettleOnce

        before_use = SettleOnce()
    context.obj = replace(opened, before_use=before_use, remark=cache(say))
    log.scrub_output(opened.settings)
    log.configure(opened.settings, context.invoked_subcommand or "command")


def say(text: str) -> None:
    """Print a remark on standard error, in one line that no name in it can break, colour or make
    endless."""
    print(shorten(printable(text), _LONGEST_LINE), file=sys.stderr)


def is_watched() -> bool:
    """Return whether a person follows the progress: at a terminal, or on request."""
    return Output.progress or sys.stderr.isatty()


def say_progress(text: str) -> None:
    """Print how far a command is on standard error: for people at a terminal, since a command that
    fails says one line."""
    if is_watched():
        say(text)


def say_arm(name: str, done: int, total: int) -> None:
    """Print which run of several a command makes now, as `say_progress` does."""
    say_progress(f"{done + 1} of {total}: {name}")


def show(result: Mapping[str, Any], text: str) -> None:
    """Print a command's result: one JSON object (NaN as null), or text for people."""
    print(json.dumps(plain(result), ensure_ascii=False) if Output.as_json else text)


def show_list(
    key: str, records: Sequence[Mapping[str, Any]], columns: Sequence[str], none: str
) -> None:
    """Print a list: as JSON under a key, or as a table of these columns. none: what to say where it
    is empty."""
    rows = [{name: _cell(record[name]) for name in columns} for record in records]
    show({key: records}, "\n".join(table_lines(rows)) or none)


def _cell(value: Any) -> Any:
    """Return a value as it stands in a line of a table."""
    if isinstance(value, list | tuple):
        return ", ".join(value)
    return printable(value) if isinstance(value, str) else value


def show_deleted(name: str) -> None:
    """Print the name of what was deleted."""
    show({"deleted": name}, f"{name}: deleted")


def show_file(out: Path, content: bytes, facts: Mapping[str, Any], *, replace: bool) -> None:
    """Write a file, and print where it is, its hash, and facts about it."""
    from core.base.file_io import write_file
    from core.base.hashes import sha256_of

    write_file(content, out, replace=replace)
    sha256 = sha256_of(content)
    words = [f"{name} {cell_text(value)}" for name, value in facts.items()]
    show({"path": str(out), "sha256": sha256, **facts}, f"{out}: {', '.join(words)}, {sha256}")


def say_if_named_otherwise(run: Run, name: str) -> None:
    """Say that a request's run was there already, under another name."""
    if run.name != name:
        say(f"{name}: the same specification as run {run.name} ({run.id}), which is returned")


FIRST_S = 3.0  # before the first line, so that a command that fails at once says that alone
EVERY_S = 10.0  # between two lines


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Show the current step during the block; call the yielded function with each next step.

    A person at a terminal sees each step as it begins. Plain output gets a line after FIRST_S
    seconds and then every EVERY_S, with the step that is on and the seconds since the block began.
    """
    begun, ended, steps = time.monotonic(), threading.Event(), [what]

    def step(text: str) -> None:
        steps.append(text)
        if is_watched():
            say(text)

    def repeat() -> None:
        wait_s = FIRST_S
        while not ended.wait(wait_s):
            say(f"{steps[-1]} … {time.monotonic() - begun:.0f} s")
            wait_s = EVERY_S

    reporter = threading.Thread(target=repeat, name="progress", daemon=True)
    reporter.start()
    try:
        yield step
    finally:
        ended.set()
        reporter.join()


def show_result(result: Result) -> None:
    """Print a result."""
    show(to_json(result) if Output.as_json else {}, "\n".join(result_lines(result)))


def result_lines(result: Result) -> list[str]:
    """Return a result as lines: its sentence, its tables with their titles, its scope, then its
    caveats."""
    lines = [result.sentence]
    for table in (each for each in result.tables() if each.rows):
        lines += ["", f"{table.title}:", *table_lines(table.texts())]
    return [*lines, "", *filter(None, (result.scope, *result.caveats))]


RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run's name or id.")]
DatasetName = Annotated[
    str | None, typer.Option("--dataset", help="By default the only one that is not the demo.")
]
JobName = Annotated[
    str,
    typer.Argument(
        metavar="JOB", help="A name or id of `jobs list`, with its kind if several have it."
    ),
]
