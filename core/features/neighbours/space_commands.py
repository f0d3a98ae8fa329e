"""Commands about gene spaces: embed text, sentences, endpoint, network, response, coresponse, load,
list, delete."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core.base.errors import InputError, StateError
from core.base.fields.record import make
from core.base.result import Summary, to_json
from core.cli import names
from core.cli.base import Replace, say, show_deleted, show_list, show_result, working
from core.cli.settings import takes
from core.embeddings.symbol_matching import Coverage
from core.features.importing import actions as imports
from core.features.neighbours import spaces as actions
from core.features.neighbours.spaces import (
    CoresponseSettings,
    NetworkSettings,
    ResponseSettings,
    TextSettings,
)
from core.runs import component_loader
from core.runs.workspace import Workspace
from core.store import spaces
from core.store.spaces import SpaceRecord

app = typer.Typer(no_args_is_help=True)

Name = Annotated[str, typer.Option("--name", help="The space's name.")]


def _check_dataset(context: typer.Context, dataset: str | None) -> str | None:
    """Return the name of a dataset, checked before anything is built. Raise NotFound if the
    workspace has no such dataset."""
    return None if dataset is None else component_loader.default_dataset(context.obj, dataset).name


DatasetName = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        callback=_check_dataset,
        help="By default the only one that is not the demo.",
        autocompletion=names.complete_dataset,
    ),
]


def _add_source(source: str, record: type, about: str) -> None:
    """Add the command that builds a space with the settings of a record."""

    @app.command(source, help=about)
    @takes(record)
    def build(
        context: typer.Context,
        name: Name,
        chosen: dict[str, Any],
        dataset: DatasetName = None,
        replace: Replace = False,
    ) -> None:
        asked: Any = make(record, chosen)
        kind, options = actions.source_of(asked)
        if isinstance(asked, CoresponseSettings):
            options = {
                **options,
                "dataset": component_loader.default_dataset(context.obj, dataset).name,
            }
        with working(f"building {name}") as step:
            pack = getattr(asked, "pack", None)
            space = actions.embed(
                context.obj, kind, name, options, pack=pack, replace=replace, say=step
            )
        _show(context.obj, space, dataset)


for _source in (
    (
        "text",
        TextSettings,
        (
            "Build a space from gene descriptions: TF-IDF and SVD, or an encoder, or a server's"
            " embeddings."
        ),
    ),
    (
        "network",
        NetworkSettings,
        "Build a space from a network's edges: normalised adjacency, then SVD.",
    ),
    (
        "response",
        ResponseSettings,
        "Build a space from a published LPS response: log fold change and mean expression.",
    ),
    (
        "coresponse",
        CoresponseSettings,
        (
            "Build a space from a dataset's labels: genes that respond alike are close. Never"
            " evaluated on these labels, unless it is built again in each fold."
        ),
    ),
):
    _add_source(*_source)


@app.command()
def load(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A file or a checkpoint's folder, recognised by content."
        ),
    ],
    name: Name,
    keep_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Keep a column of a table that would be left out as not a dimension.",
        ),
    ] = None,
    dataset: DatasetName = None,
    replace: Replace = False,
) -> None:
    """Load a space from a file: safetensors, npz, parquet, CSV, word2vec text, GenePT's pickle,
    scGPT's, Geneformer's."""
    with working(f"reading {file.name}"):
        found = imports.import_space(
            context.obj, file, name, replace=replace, kept=keep_column or ()
        )
    _show(context.obj, found, dataset)


@app.command("list")
def list_(context: typer.Context, dataset: DatasetName = None) -> None:
    """List the spaces."""
    with context.obj.store.read() as db:
        found = spaces.list_all(db)
    listed = [to_json(_listed(context.obj, space, dataset)) for space in found]
    show_list("spaces", listed, ("sentence",), "no spaces yet; try: perturbdesk embed --help")


@app.command()
def delete(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="SPACE", help="A space's name.", autocompletion=names.complete_space
        ),
    ],
) -> None:
    """Delete a space; runs that were made with it stay."""
    show_deleted(actions.delete(context.obj, name).name)


def _show(workspace: Workspace, space: SpaceRecord, dataset: str | None) -> None:
    for note in space.notes:
        say(f"{space.name}: {note}")
    show_result(_summary(space, actions.coverage_of(workspace, space, dataset)))


def _listed(workspace: Workspace, space: SpaceRecord, dataset: str | None) -> Summary:
    """Return a space in the list; one that cannot be loaded says so in a note and does not hide the
    others."""
    try:
        return _summary(space, actions.coverage_of(workspace, space, dataset))
    except (InputError, StateError) as error:
        say(str(error))
        return _summary(space, None, str(error))


def _summary(space: SpaceRecord, coverage: Coverage | None, *notes: str) -> Summary:
    """Return a space with the shares of a dataset's rows that it covers; null without a dataset."""
    names = ("id", "kind", "genes", "columns", "source", "sha256", "built_from")
    shares = {
        "coverage": "rows_by_gene",
        "coverage_by_pert": "rows_by_pert",
        "coverage_by_both": "rows_by_both",
    }
    facts = {
        "space": space.name,
        **{name: getattr(space, name) for name in names},
        **{key: getattr(coverage, name, None) for key, name in shares.items()},
        "notes": [*space.notes, *notes],
    }
    covered = "–" if coverage is None else f"{coverage.rows_by_gene:.0%}"
    sentence = (
        f"{space.name}: {space.genes:,} genes × {space.columns:,}, covers {covered} of rows,"
        f" {space.source}"
    )
    return Summary("Gene space", sentence, facts)
