"""Command `reproduce`: published numbers, computed again."""

from __future__ import annotations

from typing import Annotated

import typer

from core.cli.base import say_progress, show_result

app = typer.Typer()


@app.command()
def reproduce(
    context: typer.Context,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A number, the beginning of its name, or a pattern such as 'knn.*.loo.*'.",
        ),
    ] = None,
) -> None:
    """Compute the published numbers again from the files of this workspace; say which agree, which
    differ and why."""
    from core.features.published.reproduce import reproduce_numbers

    show_result(
        reproduce_numbers(context.obj, only, lambda name: say_progress(f"computing {name}"))
    )
