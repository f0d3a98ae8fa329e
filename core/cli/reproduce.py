"""Command `reproduce`: published numbers, computed again."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated, Any

import typer

from core.actions.reproduction import reproduce_numbers
from core.cli.base import Json, say_progress, show
from core.experiments.reproduce import VERDICTS, Reproduced, summarize

app = typer.Typer()


@app.command()
def reproduce(
    context: typer.Context,
    only: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A number, the beginning of its name, or a pattern such as 'knn.*.loo.*'."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute the published numbers again from the files of this workspace; say which agree, which differ and why."""
    results = reproduce_numbers(context.obj, only, lambda name: say_progress(f"computing {name}"))
    groups = groupby(results, lambda result: f"{result.title}: {result.source}")
    lines = [line for title, group in groups for line in (title, *map(describe, group))]
    show({"numbers": [_as_json(each) for each in results]}, as_json, "\n".join([*lines, "", summarize(results)]))


def describe(result: Reproduced) -> str:
    """Describe a number in a line."""
    within = f" ± {result.tolerance:g}" if result.tolerance else ""
    published, ours = f"{result.published:,.5g}{within}", "–" if result.ours is None else f"{result.ours:,.5g}"
    line = f"  {result.name:34} published {published:18} ours {ours:10} {VERDICTS[result.agrees]}"
    return f"{line}: {result.why}" if result.why else line


def _as_json(result: Reproduced) -> dict[str, Any]:
    keys = ("name", "published", "ours", "tolerance", "agrees", "source")
    more = {"why": result.why or None, "note": result.note or None, "group": result.title}
    return {key: getattr(result, key) for key in keys} | more
