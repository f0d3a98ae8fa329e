"""A saved fusion as one HTML file, in which a colleague weighs it again."""

from __future__ import annotations

from typing import Annotated

import typer

from core.base import environment
from core.base.errors import NotFound, StateError
from core.cli.base import Out, Replace, show_file
from core.cli.names import RunName
from core.features.fuse.explorer.component import ExplorerData
from core.features.fuse.explorer.travel import data_of_file, saved_fusion
from core.runs.component_loader import WorkspaceComponents
from core.runs.workspace import Workspace
from core.scoring.run_scores import RunRows, load_scored_rows
from core.store import datasets, runs
from core.store.runs import Run

app = typer.Typer()


def fusion_data(workspace: Workspace, run: str, *, labels: bool) -> ExplorerData:
    """Return the explorer's content for a saved fusion (name or id). labels: include the labels of
    its rows.

    Raise NotFound, InputError and StateError as `saved_fusion` does.
    """

    def load_rows(key: str) -> RunRows:
        with workspace.store.read() as db:
            return load_scored_rows(db, key)

    with workspace.store.read() as db:
        found = runs.find_predicting(db, run)
        dataset = datasets.find(db, found.dataset)
    fusion, mix = saved_fusion(
        found, WorkspaceComponents(workspace, dataset), load_rows, dataset.name
    )
    return data_of_file(fusion, mix, labels=labels)


def find_explorer(workspace: Workspace, run: Run, labels: bool) -> ExplorerData | None:
    """Return the explorer of a run for a report; None for a run that is not a fusion, or whose
    parts were deleted or changed."""
    if run.method != "fusion":
        return None
    try:
        return fusion_data(workspace, run.id, labels=labels)
    except (NotFound, StateError):
        return None


def fusion_file(workspace: Workspace, run: str, *, labels: bool) -> bytes:
    """Return the file. Raise StateError also if it contains an API key."""
    content = fusion_data(workspace, run, labels=labels).file()
    environment.refuse_secrets(workspace.settings, f"fusion {run}", [content])
    return content


@app.command()
def fusion(
    context: typer.Context,
    run: RunName,
    out: Out,
    labels: Annotated[
        bool,
        typer.Option(
            "--labels/--no-labels", help="Whether the labels of its rows are in the file."
        ),
    ] = True,
    replace: Replace = False,
) -> None:
    """Write a fusion as one HTML file, in which its weights are moved by hand; it opens without a
    network.

    Without labels it moves ranks alone, and says what the saved weights score.
    """
    content = fusion_file(context.obj, run, labels=labels)
    show_file(out, content, {"bytes": len(content), "labels": labels}, replace=replace)
