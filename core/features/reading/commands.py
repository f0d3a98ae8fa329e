"""The command that searches the text of all runs of a dataset: search."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from core.base.errors import InputError
from core.base.result import fields_of
from core.cli.base import DatasetName, RunName, show, show_list
from core.runs import actions as run_actions
from core.store import notes, runs, text_search
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
    from core.runs import component_loader

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


note_app = typer.Typer(no_args_is_help=True)


@note_app.command()
def add(
    context: typer.Context,
    run: RunName,
    text: Annotated[str, typer.Argument(help="What to note.")],
    row: Annotated[
        str | None, typer.Option(help="A row's id; without it the note is about the whole run.")
    ] = None,
) -> None:
    """Add a note to a run, or to one of its rows."""
    key = run_actions.add_note(context.obj, run, row, text)
    show({"note": key}, f"note {key}")


@note_app.command("list")
def list_(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(
            help="A run's name or id; without it, all runs of the dataset.",
        ),
    ] = None,
    dataset: DatasetName = None,
    author: Annotated[str | None, typer.Option(help="Only notes that this author wrote.")] = None,
) -> None:
    """List notes on runs, their rows and their figures, newest first."""
    from core.runs.component_loader import default_dataset

    with context.obj.store.read() as db:
        of_run = runs.find(db, run) if run else None
        found = notes.of_dataset(
            db, of_run.dataset if of_run else default_dataset(context.obj, dataset).id
        )
    if of_run is not None:
        found = found[found["run_id"] == of_run.id]
    if author is not None:
        found = found[found["author"] == author]
    records = found.assign(written_at=found["written_at"].dt.strftime("%Y-%m-%dT%H:%M:%SZ")).astype(
        object
    )
    listed: list[Any] = records.where(records.notna(), None).to_dict("records")
    columns = ("id", "written_at", "author", "run", "pair_id", "figure", "text")
    show_list("notes", listed, columns, "no notes")


@note_app.command()
def delete(
    context: typer.Context, note: Annotated[str, typer.Argument(help="A note's id.")]
) -> None:
    """Delete a note that you wrote."""
    run_actions.delete_note(context.obj, note)
    show({"deleted": note}, f"note {note}: deleted")
