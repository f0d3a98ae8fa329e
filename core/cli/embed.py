"""Commands about gene spaces: embed text, sentences, endpoint, network, response, coresponse, load, list, delete."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from core.actions import component_loader, imports
from core.actions import spaces as actions
from core.actions.workspace import Workspace
from core.cli import names
from core.cli.base import Json, say, show
from core.cli.progress import working
from core.errors import InputError, StateError
from core.store import spaces
from core.store.spaces import SpaceRecord

app = typer.Typer(no_args_is_help=True)

Name = Annotated[str, typer.Option("--name", help="The space's name.")]
Pack = Annotated[
    str | None,
    typer.Option(help="The knowledge pack to build from; by default the latest of its kind.", autocompletion=names.complete_pack),
]
Columns = Annotated[int, typer.Option(help="How many columns the SVD keeps.")]
Seed = Annotated[int, typer.Option(help="The SVD's random seed.")]
NO_COVERAGE = (None, None, None)
Replace = Annotated[bool, typer.Option("--replace", help="Replace an existing space of that name.")]


def _check_dataset(context: typer.Context, dataset: str | None) -> str | None:
    """Return the name of a dataset, checked before anything is built. Raise NotFound if the workspace has no such dataset."""
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


@app.command()
def text(
    context: typer.Context,
    name: Name,
    pack: Pack = None,
    columns: Columns = 200,
    seed: Seed = 0,
    encoder: Annotated[
        str | None, typer.Option(help="A sentence-transformers model instead of TF-IDF; minilm for all-MiniLM-L6-v2.")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="A server's address ending in /v1; its --model makes the embeddings.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The server's model.")] = None,
    dataset: DatasetName = None,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Build a space from gene descriptions: TF-IDF and SVD, or an encoder, or a server's embeddings."""
    options: dict[str, Any]
    if endpoint is not None:
        if model is None:
            raise InputError(f"embed text --endpoint {endpoint}: expected --model too")
        kind, options = "endpoint", {"base_url": endpoint, "model": model}
    elif encoder is not None:
        kind, options = "sentences", {"model": actions.MINILM if encoder.lower() == "minilm" else encoder}
    else:
        kind, options = "text", {"columns": columns, "seed": seed}
    with working(f"building {name}") as step:
        found = actions.embed(context.obj, kind, name, options, pack=pack, replace=replace, say=step)
    _show(context.obj, found, dataset, as_json)


@app.command()
def network(
    context: typer.Context,
    name: Name,
    pack: Pack = None,
    columns: Columns = 128,
    seed: Seed = 0,
    dataset: DatasetName = None,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Build a space from a network's edges: normalised adjacency, then SVD."""
    options = {"columns": columns, "seed": seed}
    with working(f"building {name}") as step:
        found = actions.embed(context.obj, "network", name, options, pack=pack, replace=replace, say=step)
    _show(context.obj, found, dataset, as_json)


@app.command()
def response(
    context: typer.Context,
    name: Name,
    pack: Pack = None,
    dataset: DatasetName = None,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Build a space from a published LPS response: log fold change and mean expression."""
    with working(f"building {name}") as step:
        found = actions.embed(context.obj, "response", name, {}, pack=pack, replace=replace, say=step)
    _show(context.obj, found, dataset, as_json)


@app.command()
def coresponse(
    context: typer.Context,
    name: Name,
    dataset: DatasetName = None,
    of: Annotated[str, typer.Option(help="The axis with vectors: gene or pert.")] = "gene",
    columns: Columns = 64,
    seed: Seed = 0,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Build a space from a dataset's labels: genes that respond alike are close. Never evaluated on these labels, unless it is
    built again in each fold."""
    if of not in ("gene", "pert"):
        raise InputError(f"embed coresponse --of {of}: expected gene or pert")
    options = {"dataset": component_loader.default_dataset(context.obj, dataset).name, "of": of, "columns": columns, "seed": seed}
    with working(f"building {name}") as step:
        found = actions.embed(context.obj, "coresponse", name, options, replace=replace, say=step)
    _show(context.obj, found, dataset, as_json)


@app.command()
def load(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file or a checkpoint's folder, recognised by content.")],
    name: Name,
    keep_column: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Keep a column of a table that would be left out as not a dimension."),
    ] = None,
    dataset: DatasetName = None,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Load a space from a file: safetensors, npz, parquet, CSV, word2vec text, GenePT's pickle, scGPT's, Geneformer's."""
    with working(f"reading {file.name}"):
        found = imports.import_space(context.obj, file, name, replace=replace, kept=keep_column or ())
    _show(context.obj, found, dataset, as_json)


@app.command("list")
def list_(context: typer.Context, dataset: DatasetName = None, as_json: Json = False) -> None:
    """List the spaces."""
    with context.obj.store.read() as db:
        found = spaces.list_all(db)
    records = [_list_record(context.obj, space, dataset) for space in found]
    show({"spaces": records}, as_json, "\n".join(map(_line, records)) or "no spaces yet; try: perturbdesk embed --help")


@app.command()
def delete(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="SPACE", help="A space's name.", autocompletion=names.complete_space)],
    as_json: Json = False,
) -> None:
    """Delete a space; runs that were made with it stay."""
    gone = actions.delete(context.obj, name)
    show({"deleted": gone.name}, as_json, f"{gone.name}: deleted")


def _show(workspace: Workspace, space: SpaceRecord, dataset: str | None, as_json: bool) -> None:
    record = _record(workspace, space, dataset)
    for note in space.notes:
        say(f"{space.name}: {note}")
    show(record, as_json, _line(record))


def _record(workspace: Workspace, space: SpaceRecord, dataset: str | None) -> dict[str, Any]:
    """coverage: the share of the dataset's rows whose target gene the space has; null without a dataset."""
    found = actions.coverage_of(workspace, space, dataset)
    return _as_json(space, (found.rows_by_gene, found.rows_by_pert, found.rows_by_both) if found else NO_COVERAGE)


def _list_record(workspace: Workspace, space: SpaceRecord, dataset: str | None) -> dict[str, Any]:
    """As `_record`; a space that cannot be loaded says so in a note and does not hide the others."""
    try:
        return _record(workspace, space, dataset)
    except (InputError, StateError) as error:
        say(str(error))
        return _as_json(space, NO_COVERAGE, str(error))


def _as_json(space: SpaceRecord, coverage: Sequence[float | None], *notes: str) -> dict[str, Any]:
    by_gene, by_pert, by_both = coverage
    return {
        "space": space.name,
        "id": space.id,
        "kind": space.kind,
        "genes": space.genes,
        "columns": space.columns,
        "coverage": by_gene,
        "coverage_by_pert": by_pert,
        "coverage_by_both": by_both,
        "source": space.source,
        "sha256": space.sha256,
        "built_from": space.built_from,
        "notes": [*space.notes, *notes],
    }


def _line(record: dict[str, Any]) -> str:
    covered = "–" if record["coverage"] is None else f"{record['coverage']:.0%}"
    return (
        f"{record['space']:24} {record['genes']:>7,} genes × {record['columns']:,}  covers {covered} of rows  {record['source']}"
    )
