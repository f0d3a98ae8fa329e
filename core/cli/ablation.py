"""Commands behind `ablation`: list, run."""

from __future__ import annotations

from typing import Annotated

import typer

from core.actions.launch import read_key_values
from core.cli import names
from core.cli.base import Json, show
from core.cli.results import show_result
from core.errors import NotFound
from core.features.experiments.registry import kind_named, kinds
from core.fields.record import make, options_of

app = typer.Typer()


@app.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """List the computed experiments: their questions, settings, and missing inputs."""
    records = [
        {
            "name": kind.name,
            "title": kind.title,
            "question": kind.question,
            "settings": {option.name: option.default for option in options_of(kind.settings)},
            "missing": kind.missing(context.obj, None),
        }
        for kind in kinds().values()
        if kind.compute is not None
    ]
    lines = [line for each in records for line in (f"{each['name']}  {each['question']}", *map(_lacks, each["missing"]))]
    show({"ablations": records}, as_json, "\n".join(lines))


def _lacks(missing: str) -> str:
    return f"  lacks {missing}"


@app.command()
def run(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="One of `ablation list`.", autocompletion=names.complete_ablation)],
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the experiment.")] = None,
    as_json: Json = False,
) -> None:
    """Compute an experiment. Every arm is scored alike, with its paired change from the base."""
    kind = kind_named(name)
    if kind.compute is None:
        raise NotFound(f"ablation {name!r}: not computed, expected one of `ablation list`")
    show_result(kind.compute(context.obj, make(kind.settings, dict(read_key_values(settings or [])))), as_json)
