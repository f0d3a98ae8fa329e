"""Commands behind `report walk`: list, export, delete."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.base import environment
from core.cli import names
from core.cli.base import Replace, show_deleted, show_file, show_list
from core.features.sharing import walk_actions
from core.features.sharing import walk_tables as stored
from core.features.sharing.report.printing import as_pdf
from core.features.sharing.report.walk import AT_HOME, Links, walk_file
from core.store import datasets

app = typer.Typer(no_args_is_help=True)

complete_name = names.complete(
    names.stored(
        "core.features.sharing.walk_tables:list_all", lambda walks: [name for _, name, _ in walks]
    )
)
Name = Annotated[str, typer.Argument(help="The walk-through's name.", autocompletion=complete_name)]
Page = Annotated[
    Path, typer.Option(help="The file to write: HTML, or a PDF if its name ends in .pdf.")
]
Dataset = Annotated[
    str | None,
    typer.Option(
        help="Its dataset, if several have a walk-through of that name.",
        autocompletion=names.complete_dataset,
    ),
]


@app.command("list")
def list_(context: typer.Context) -> None:
    """List the walk-throughs with their numbers of stops."""
    with context.obj.store.read() as db:
        names = {each.id: each.name for each in datasets.list_all(db)}
        found = [
            {"name": name, "dataset": names.get(home, home), "stops": n}
            for home, name, n in stored.list_all(db)
        ]
    none = "no walk-throughs yet; add a stop in the app with “Add to walk-through”"
    show_list("walks", found, ("name", "dataset", "stops"), none)


@app.command()
def export(
    context: typer.Context,
    name: Name,
    out: Page,
    dataset: Dataset = None,
    replace: Replace = False,
) -> None:
    """Write a walk-through as slides in one self-contained file; each stop is a link to its
    view."""
    links = Links(context.obj.settings.base_url or AT_HOME)
    with context.obj.store.read() as db:
        home, stops = walk_actions.find_walk(db, name, dataset)
        page = walk_file(db, home, name, links)
    environment.refuse_secrets(context.obj.settings, f"walk-through {name}", [page])
    content = as_pdf(page) if out.suffix.lower() == ".pdf" else page
    show_file(out, content, {"stops": len(stops)}, replace=replace)


@app.command()
def delete(context: typer.Context, name: Name, dataset: Dataset = None) -> None:
    """Delete a walk-through with its stops; files that were exported stay."""
    with context.obj.store.read() as db:
        home, _ = walk_actions.find_walk(db, name, dataset)
    walk_actions.delete_walk(context.obj, home, name)
    show_deleted(name)
