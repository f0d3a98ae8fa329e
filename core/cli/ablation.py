"""Commands behind `ablation`: list, run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any

import pandas as pd
import typer

from core.actions import ablations
from core.actions.launch import read_key_values
from core.cli import names
from core.cli.base import Json, show
from core.experiments.ablations.arms import change_of, score_of

app = typer.Typer()

Dataset = Annotated[
    str | None, typer.Option(help="The dataset whose labelled rows are scored.", autocompletion=names.complete_dataset)
]


@app.command("list")
def list_(context: typer.Context, dataset: Dataset = None, as_json: Json = False) -> None:
    """List the ready ablations: their questions, settings, and missing inputs."""
    found = ablations.list_ablations(ablations.load_material(context.obj, dataset))
    records = [
        {
            "name": each.name,
            "title": each.title,
            "question": each.question,
            "settings": {option.name: option.default for option in each.options},
            "missing": missing,
        }
        for each, missing in found
    ]
    width = max(len(each.name) for each, _ in found)
    lines = [f"{each.name:{width}}  {each.question}" for each, _ in found]
    lines = [
        line + "".join(f"\n{'':{width}}  lacks {one}" for one in missing) for line, (_, missing) in zip(lines, found, strict=True)
    ]
    show({"ablations": records}, as_json, "\n".join(lines))


@app.command()
def run(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="One of `ablation list`.", autocompletion=names.complete_ablation)],
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the ablation.")] = None,
    dataset: Dataset = None,
    as_json: Json = False,
) -> None:
    """Run an ablation. Every arm is scored alike, with its paired change from the baseline; a sentence says what came out."""
    found = ablations.run_ablation(context.obj, name, dict(read_key_values(settings or [])), dataset)
    outcome = found.outcome
    result = {
        "name": name,
        "dataset": found.dataset,
        "table": _records(outcome.table),
        "sentence": outcome.sentence,
        "remarks": list(outcome.remarks),
        "details": _records(outcome.details),
        "seconds": round(found.seconds, 2),
    }
    show(result, as_json, "\n".join([*_lines(outcome.table), outcome.sentence, *outcome.remarks]))


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    plain = table.astype(object).where(table.notna(), None)
    return [{str(name): value for name, value in record.items()} for record in plain.to_dict("records")]


def _lines(table: pd.DataFrame) -> Iterator[str]:
    width = max((len(str(arm)) for arm in table["arm"]), default=0)
    for arm, metric in zip(table["arm"], table["metric"], strict=True):
        change = change_of(table, arm, metric)
        moved = "" if math.isnan(change.estimate) else f"  {change.change_text}"
        yield f"{metric:5} {arm:{width}}  {score_of(table, arm, metric).text}{moved}"
    if len(table):
        yield f"Scored {table['scored'].iloc[0]}, intervals allowing for shared perturbations and genes."
