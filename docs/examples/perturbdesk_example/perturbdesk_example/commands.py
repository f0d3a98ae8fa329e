"""The command flags."""

from __future__ import annotations

from typing import Annotated

import typer
from perturbdesk_example.flags import count_flags

from core.cli.base import show_result

app = typer.Typer()


@app.command()
def flags(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's name or id.")],
) -> None:
    """Count the rows of a run that carry each flag."""
    with context.obj.store.read() as db:
        show_result(count_flags(db, run))
