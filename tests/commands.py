"""Commands in this process, with the effect and the output of `python -m core`, without its start."""

from __future__ import annotations

import io
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from typer.main import get_command

from core.cli import main
from core.cli.base import app
from core.runs.workspace import Workspace


@dataclass(frozen=True)
class Done:
    """What a command left behind: its exit status, standard output and standard error."""

    status: int
    out: str
    err: str


def words_of(arguments: Sequence[str]) -> Sequence[str]:
    """Split a single text as a shell does."""
    return shlex.split(arguments[0]) if len(arguments) == 1 else arguments


def core(workspace: Workspace | Path, *arguments: str) -> Done:
    """Run a command on a workspace or its folder; a single text is a whole command line."""
    folder = workspace.settings.workspace if isinstance(workspace, Workspace) else workspace
    out, err = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2)
    )
    status = 0
    with (
        mock.patch.object(sys, "argv", ["core", "--workspace", str(folder), *words_of(arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
    return Done(status, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def core_json(workspace: Workspace | Path, *arguments: str) -> Any:
    """The JSON that a command prints, which has to succeed; NaN is none."""
    done = core(workspace, *words_of(arguments), "--json")
    assert done.status == 0, done.err
    return json.loads(done.out, parse_constant=_no_number)


def every_command() -> dict[str, Any]:
    """Every command by its words, those in a group behind the group's name."""
    root = get_command(app)
    return dict(_commands_of(root, root.context_class(root, info_name="perturbdesk"), ""))


def _commands_of(group: Any, context: Any, before: str) -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(context):
        _, found, _ = group.resolve_command(context, [name])
        if hasattr(found, "list_commands"):
            inner = found.context_class(found, info_name=name, parent=context)
            yield from _commands_of(found, inner, f"{before}{name} ")
        else:
            yield f"{before}{name}", found


def options_of(command: Any) -> set[str]:
    return {option for each in command.params for option in (*each.opts, *each.secondary_opts)}


def _no_number(found: str) -> None:
    raise AssertionError(f"{found} in JSON, expected null")
