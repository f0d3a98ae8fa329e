"""Commands that transfer labels: knn, neighbours."""

from __future__ import annotations

from dataclasses import replace as replaced
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.base.errors import InputError, StateError
from core.base.fields.record import make
from core.base.result import Summary, to_json
from core.cli.base import (
    DatasetName,
    Replace,
    say,
    say_if_named_otherwise,
    show_deleted,
    show_list,
    show_result,
    working,
)
from core.cli.settings import takes
from core.features.neighbours.space_settings import SPACE_SETTINGS, CoresponseSettings
from core.runs.component_requests import KnnRequest
from core.runs.workspace import Workspace
from core.store import spaces
from core.store.spaces import SpaceRecord
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import Kind

if TYPE_CHECKING:
    from core.embeddings.symbol_matching import Coverage

app = typer.Typer()


@app.command()
@takes(KnnRequest, required=("spaces",))
def knn(context: typer.Context, chosen: dict[str, Any], replace: Replace = False) -> None:
    """Predict from the labels of similar genes: coverage, and the score beside that of the same
    space with permuted vectors."""
    from core.features.neighbours.result import KnnResult, numbers_of
    from core.runs import component_loader, launch
    from core.runs.component_loader import WorkspaceComponents, default_dataset
    from core.transfer.knn_settings import refuse_cut_without_effect, with_power_of_effects

    asked = make(KnnRequest, with_power_of_effects(chosen))
    refuse_cut_without_effect(asked.settings)
    target, settings, name = default_dataset(context.obj, asked.dataset), asked.settings, asked.name
    loader = WorkspaceComponents(context.obj, target)
    with working("finding the similar genes of every row") as step:
        predicted = loader.predict_knn(settings, None)
        numbers = numbers_of(
            context.obj,
            predicted,
            settings.protocol,
            asked.permutations,
            lambda share: step(f"permuting vectors: {share:.0%}"),
        )
    remarks = tuple(_pooled_lines(target.name, settings)) if target.headline == "macro" else ()
    result = replaced(
        KnnResult.of(numbers, settings.describe(), predicted.seconds, target.marks), remarks=remarks
    )
    if name:
        request = component_loader.knn_request(target, settings, name)
        saved = launch.start(context.obj, request, replace=replace, components=loader)
        say_if_named_otherwise(saved, name)
        result = replaced(result, run=saved.name)
    show_result(result)


def _pooled_lines(dataset: str, settings: KnnSettings) -> list[str]:
    """Return how to read the pooled scores of a kNN on a dataset that is judged by averages over
    genes."""
    from core.scoring.run_scores import MACRO_HEADLINE

    lines = [
        f"Over all pairs of rows; {dataset} is judged by the {MACRO_HEADLINE}, which `score` gives"
        " of a saved run."
    ]
    if settings.similarity.weighting.axis == "gene" and settings.protocol.kind == "test":
        lines.append(
            "By target gene all rows of a gene have one prior, so there it is 0.5; --axis pert"
            " compares perturbations."
        )
    return lines


@app.command()
@takes(KnnSettings, without=("protocol", "strength"), required=("spaces",))
def neighbours(
    context: typer.Context,
    pair: Annotated[str, typer.Argument(metavar="PAIR", help="A row's id: perturbation_gene.")],
    chosen: dict[str, Any],
    protocol: Annotated[
        Kind | None, typer.Option(help="By default folds for a labelled row, else test.")
    ] = None,
    without: Annotated[list[str] | None, typer.Option(help="Labelled rows to leave out.")] = None,
    dataset: DatasetName = None,
) -> None:
    """List the labelled rows behind a row's priors, heaviest first."""
    from core.features.neighbours.result import NeighboursResult
    from core.runs import component_loader
    from core.runs.component_loader import default_dataset

    target = default_dataset(context.obj, dataset)
    found = component_loader.neighbours_of(
        context.obj,
        target,
        pair,
        make(KnnSettings, {**chosen, "protocol": protocol or "folds"}),
        protocol_chosen=protocol is not None,
        without=without or (),
    )
    show_result(
        NeighboursResult.of(
            pair, found.settings.describe(), found.why, found.pair_ids, found.labels
        )
    )


spaces_app = typer.Typer(no_args_is_help=True)

Name = Annotated[str, typer.Option("--name", help="The space's name.")]


def _check_dataset(context: typer.Context, dataset: str | None) -> str | None:
    """Return the name of a dataset, checked before anything is built. Raise NotFound if the
    workspace has no such dataset."""
    from core.runs import component_loader

    return None if dataset is None else component_loader.default_dataset(context.obj, dataset).name


CheckedDataset = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        callback=_check_dataset,
        help="By default the only one that is not the demo.",
    ),
]


def _add_source(source: str, record: type) -> None:
    """Add the command that builds a space with the settings of a record."""

    @spaces_app.command(source, help=record.__doc__)
    @takes(record)
    def build(
        context: typer.Context,
        name: Name,
        chosen: dict[str, Any],
        dataset: CheckedDataset = None,
        replace: Replace = False,
    ) -> None:
        from core.features.neighbours import spaces as actions
        from core.runs import component_loader

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


for _source, _record in SPACE_SETTINGS.items():
    _add_source(_source, _record)


@spaces_app.command()
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
    dataset: CheckedDataset = None,
    replace: Replace = False,
) -> None:
    """Load a space from a file: safetensors, npz, parquet, CSV, word2vec text, GenePT's pickle,
    scGPT's, Geneformer's."""
    from core.features.importing import actions as imports

    with working(f"reading {file.name}"):
        found = imports.import_space(
            context.obj, file, name, replace=replace, kept=keep_column or ()
        )
    _show(context.obj, found, dataset)


@spaces_app.command("list")
def list_(context: typer.Context, dataset: CheckedDataset = None) -> None:
    """List the spaces."""
    with context.obj.store.read() as db:
        found = spaces.list_all(db)
    listed = [to_json(_listed(context.obj, space, dataset)) for space in found]
    show_list("spaces", listed, ("sentence",), "no spaces yet; try: perturbdesk embed --help")


@spaces_app.command()
def delete(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(metavar="SPACE", help="A space's name."),
    ],
) -> None:
    """Delete a space; runs that were made with it stay."""
    from core.features.neighbours import spaces as actions

    show_deleted(actions.delete(context.obj, name).name)


def _show(workspace: Workspace, space: SpaceRecord, dataset: str | None) -> None:
    from core.features.neighbours import spaces as actions

    for note in space.notes:
        say(f"{space.name}: {note}")
    show_result(_summary(space, actions.coverage_of(workspace, space, dataset)))


def _listed(workspace: Workspace, space: SpaceRecord, dataset: str | None) -> Summary:
    """Return a space in the list; one that cannot be loaded says so in a note and does not hide the
    others."""
    from core.features.neighbours import spaces as actions

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
