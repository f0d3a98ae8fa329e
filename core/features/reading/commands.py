"""The command that searches the text of all runs of a dataset: search."""

from __future__ import annotations

from typing import Annotated

import typer

from core.base.errors import InputError
from core.base.result import fields_of
from core.cli.base import show
from core.cli.names import DatasetName
from core.runs import component_loader
from core.store import runs, text_search
from core.store.text_search import LIMIT, TextQuery

app = typer.Typer()


@app.command()
def search(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A word or phrase; case is ignored.")],
    dataset: DatasetName = None,
    limit: Annotated[int, typer.Option(min=1, help="How many hits to list.")] = LIMIT,
) -> None:
    """Find a word or phrase in the traces and dossiers of all runs of a dataset."""
    if not text.strip():
        raise InputError(f"search {text!r}: got no word, expected a word or phrase")
    chosen = component_loader.default_dataset(context.obj, dataset)
    with context.obj.store.read() as db:
        names = {run.id: run.name for run in runs.list_all(db, chosen.id)}
        found = text_search.search(db, chosen.id, TextQuery(text, limit=limit))
    result = {
        "dataset": chosen.name,
        "texts": found.texts,
        "counts": [
            {"run": names[run], "role": role, "texts": n} for (run, role), n in found.counts.items()
        ],
        "hits": [{**fields_of(hit), "run": names[hit.run]} for hit in found.hits],
    }
    lines = [
        f"{found.texts:,} text{'s' * (found.texts != 1)}; showing {len(found.hits):,}",
        *(f"{n:>9,}  {names[run]}  {role}" for (run, role), n in found.counts.items()),
        *(
            f"{names[hit.run]}  {hit.pair_id}  {hit.role}:"
            f" {' '.join(f'{hit.before}[{hit.hit}]{hit.after}'.split())}"
            for hit in found.hits
        ),
    ]
    show(result, "\n".join(lines))
