"""Commands behind `note`: add, list, delete."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from core.cli import names
from core.cli.base import show, show_list
from core.cli.names import DatasetName, RunName
from core.runs import actions as run_actions
from core.runs.component_loader import default_dataset
from core.store import notes, runs

app = typer.Typer(no_args_is_help=True)


@app.command()
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


@app.command("list")
def list_(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(
            help="A run's name or id; without it, all runs of the dataset.",
            autocompletion=names.complete_run,
        ),
    ] = None,
    dataset: DatasetName = None,
    author: Annotated[str | None, typer.Option(help="Only notes that this author wrote.")] = None,
) -> None:
    """List notes on runs, their rows and their figures, newest first."""
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


@app.command()
def delete(
    context: typer.Context, note: Annotated[str, typer.Argument(help="A note's id.")]
) -> None:
    """Delete a note that you wrote."""
    run_actions.delete_note(context.obj, note)
    show({"deleted": note}, f"note {note}: deleted")
