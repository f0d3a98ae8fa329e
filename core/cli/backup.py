"""Commands about the whole workspace as one file: backup, restore."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.actions import backups
from core.cli.base import Json, ReplaceFile, say, show

app = typer.Typer()
_SHOWN = 10  # of what was left out


@app.command()
def backup(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="The file to write.")],
    replace: ReplaceFile = False,
    as_json: Json = False,
) -> None:
    """Write the whole workspace to one file, also while runs write."""
    written = backups.back_up(context.obj, out, replace=replace)
    lines = [f"{out}: {written.runs:,} runs, SHA-256 {written.sha256}"]
    lines += [f"{name}: {end.entries:,} entries, head {end.hash}" for name, end in written.heads.items() if end.entries]
    show({"path": str(out), "sha256": written.sha256}, as_json, "\n".join(lines))


@app.command()
def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `backup` wrote.")],
    as_json: Json = False,
) -> None:
    """Make an empty workspace the one of a backup."""
    restored = backups.restore(context.obj, file)
    place = context.obj.settings.workspace
    if restored.left_out:
        more = len(restored.left_out) - _SHOWN
        say(f"left out of its store: {', '.join(restored.left_out[:_SHOWN])}{f' and {more:,} more' if more > 0 else ''}")
    for problem in restored.problems:
        say(f"warning: {problem}")
    show({"path": str(file), "sha256": restored.sha256}, as_json, f"{place}: {restored.runs:,} runs from {file}")
