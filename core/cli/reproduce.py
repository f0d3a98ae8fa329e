"""Command `reproduce`: published numbers, computed again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Annotated

import typer

from core.actions.reproduction import reproduce_numbers
from core.cli.base import Json, say_progress, show
from core.experiments.published import shapes
from core.experiments.published.reproduce import Reproduced

app = typer.Typer()
PROGRESS_EVERY_S = 3.0


@app.command()
def reproduce(
    context: typer.Context,
    only: Annotated[
        str | None, typer.Option(metavar="NAME", help="A number, the beginning of its name, or a pattern such as 'knn.*.loo.*'.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute the published numbers again from the files of this workspace; say which agree, which differ and why."""
    found = reproduce_numbers(context.obj, only, _say_share())
    show(shapes.as_json(found), as_json, "\n".join(_lines(found)))


def _say_share() -> Callable[[float, str], None]:
    """Return a function that prints, every few seconds, the share done and the next number."""
    last = time.monotonic()

    def say_share(share: float, name: str) -> None:
        nonlocal last
        if time.monotonic() - last > PROGRESS_EVERY_S:
            last = time.monotonic()
            say_progress(f"{share:.0%} done; computing {name}")

    return say_share


def _lines(found: Iterable[Reproduced]) -> Iterable[str]:
    group = None
    for each in found:
        if each.number.group != group:
            group = each.number.group
            yield f"{each.number.title}: {each.number.source}"
        yield shapes.describe(each)
    yield ""
    yield shapes.summarize(list(found))
