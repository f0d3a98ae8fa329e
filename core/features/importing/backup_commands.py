"""Commands about the whole workspace as one file: backup, restore."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.cli.base import Out, Replace, show
from core.features.importing import backups

app = typer.Typer()


@app.command()
def backup(
    context: typer.Context,
    out: Out,
    replace: Replace = False,
) -> None:
    """Write the whole workspace to one file, also while runs write."""
    written = backups.back_up(context.obj, out, replace=replace)
    result = {"path": str(out), "sha256": written.sha256}
    show(result, f"{out}: {written.runs:,} runs, SHA-256 {written.sha256}")


@app.command()
def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `backup` wrote.")],
) -> None:
    """Make an empty workspace the one of a backup."""
    restored = backups.restore(context.obj, file)
    place = context.obj.settings.workspace
    result = {"path": str(file), "sha256": restored.sha256}
    show(result, f"{place}: {restored.runs:,} runs from {file}")
