"""Commands that transfer labels and combine runs: knn, neighbours, fuse, decompose."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from core.actions import derived_runs, knn_numbers, launch
from core.actions.component_loader import WorkspaceComponents, default_dataset
from core.actions.workspace import Workspace
from core.cli.base import Json, say_if_named_otherwise, say_progress, show
from core.engine.request import RunRequest
from core.errors import InputError
from core.fields.option import split_names
from core.methods.fusion_settings import BySupport, FusionSettings, read_reference, read_weights
from core.scoring import json_shapes, sentences
from core.scoring.run_scores import MACRO_HEADLINE
from core.store import predictions, runs
from core.store.datasets import Dataset
from core.transfer.fusion import Reference
from core.transfer.knn import Weighting
from core.transfer.knn_settings import KnnSettings
from core.transfer.labelled_rows import Axis
from core.transfer.permutation_null import N_PERMUTATIONS
from core.transfer.protocols import EvaluationProtocol, Kind, SimilaritySettings
from core.types import Flag

app = typer.Typer()

Spaces = Annotated[str, typer.Option("--space", metavar="S[,S2]", help="Gene spaces; several are averaged.")]
Centre = Annotated[bool, typer.Option("--centre", help="Subtract the mean of the labelled genes first.")]
Power = Annotated[float, typer.Option(help="Weight = similarity ^ power.")]
DePower = Annotated[float | None, typer.Option(help="A different power for the prior of an effect.")]
Nearest = Annotated[int | None, typer.Option("--k", help="Use only so many nearest genes.")]
OnAxis = Annotated[Axis, typer.Option("--axis", help="What has to be similar: gene, pert or both.")]
Strength = Annotated[
    float,
    typer.Option("--support-aware", help="Shrink well supported priors of an effect towards a half, 0 to 1; sets --de-power 1."),
]
Folds = Annotated[int, typer.Option(help="How many parts perturbations and genes are each cut into, for folds.")]
Seed = Annotated[int, typer.Option(help="The random seed of the folds.")]
DatasetName = Annotated[str | None, typer.Option("--dataset", help="By default the only one that is not the demo.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace an existing run of that name.")]
PROGRESS_EVERY_S = 3.0
MOST_LISTED = 20  # neighbours printed for people; --json has all
NewName = Annotated[str, typer.Option("--name", help="The new run's name.")]


def _similarity_settings(
    centre: bool, power: float, de_power: float | None, k: int | None, axis: Axis, strength: float
) -> SimilaritySettings:
    power_of_de = 1.0 if strength and de_power is None else de_power
    return SimilaritySettings(Weighting(power, power_of_de, k, axis), centre, strength)


@app.command()
def knn(
    context: typer.Context,
    space: Spaces,
    centre: Centre = False,
    power: Power = 2.0,
    de_power: DePower = None,
    k: Nearest = None,
    axis: OnAxis = "gene",
    strength: Strength = 0.0,
    protocol: Annotated[Kind, typer.Option(help="test, loo or folds.")] = "folds",
    folds: Folds = 5,
    seed: Seed = 0,
    dataset: DatasetName = None,
    permutations: Annotated[
        int, typer.Option(min=0, help="Under folds, how often vectors are permuted for the null; 0 for none.")
    ] = N_PERMUTATIONS,
    name: Annotated[str | None, typer.Option(help="Also save the priors as a run.")] = None,
    replace: Replace = False,
    pairs: Annotated[
        Path | None, typer.Option(help="Predict the rows of this Parquet file (pert, gene) instead, however many; needs --out.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The Parquet file to write for --pairs.")] = None,
    as_json: Json = False,
) -> None:
    """Predict from the labels of similar genes: coverage, and the score beside that of the same space with permuted vectors."""
    target = default_dataset(context.obj, dataset)
    settings = KnnSettings(
        tuple(split_names(space)),
        EvaluationProtocol(protocol, folds, seed),
        _similarity_settings(centre, power, de_power, k, axis, strength),
    )
    if pairs is not None or out is not None:
        _predict_file(context.obj, target, settings, (pairs, out), name, as_json)
        return
    loader = WorkspaceComponents(context.obj, target)
    predicted = loader.predict_knn(settings, None)
    numbers = knn_numbers.numbers_of(context.obj, predicted, settings.protocol, permutations, _say_share())
    result = json_shapes.knn(numbers, predicted.seconds)
    lines = [settings.describe(), *sentences.knn_sentences(numbers)]
    if target.headline == "macro":
        lines += _pooled_lines(target.name, settings)
    if name:
        request = derived_runs.knn_request(target, settings, name)
        saved = launch.start(context.obj, request, replace=replace, components=loader)
        say_if_named_otherwise(saved, name)
        result |= {"run": saved.name}
        lines.append(f"saved as {saved.name}")
    show(result, as_json, "\n".join(lines))


def _predict_file(
    workspace: Workspace,
    target: Dataset,
    settings: KnnSettings,
    files: tuple[Path | None, Path | None],
    name: str | None,
    as_json: bool,
) -> None:
    """Predict the pairs of the first file, and write the second."""
    from core.actions.streamed_knn import predict_file  # PyArrow's Parquet, which no other of these commands needs

    pairs, out = files
    if pairs is None or out is None or name is not None:
        raise InputError(
            "knn: got one of --pairs and --out, or a --name; expected --pairs FILE and --out FILE, which make no run"
        )
    start = time.perf_counter()
    found = predict_file(workspace, target, settings, pairs, out)
    seconds = time.perf_counter() - start
    axis = settings.similarity.weighting.axis
    result = {"path": str(out), "rows": found.rows, "symbols": found.symbols, "uncovered": found.uncovered, "seconds": seconds}
    text = f"{out}: {found.rows:,} rows; {found.uncovered:,} of {found.symbols:,} symbols ({axis}) have no neighbour"
    show(result, as_json, f"{settings.describe()}\n{text}")


def _pooled_lines(dataset: str, settings: KnnSettings) -> list[str]:
    """How to read the pooled scores of a kNN on a dataset that is judged by averages over genes."""
    lines = [f"over all pairs of rows; {dataset} is judged by the {MACRO_HEADLINE}, which `score` gives of a saved run"]
    if settings.similarity.weighting.axis == "gene" and settings.protocol.kind == "test":
        lines.append("by target gene all rows of a gene have one prior, so there it is 0.5; --axis pert compares perturbations")
    return lines


def _say_share() -> Callable[[float], None]:
    """Returns a function that says, every few seconds, which share of the permutations is done."""
    last = time.monotonic()

    def say_share(share: float) -> None:
        nonlocal last
        if time.monotonic() - last > PROGRESS_EVERY_S:
            last = time.monotonic()
            say_progress(f"permuting vectors: {share:.0%}")

    return say_share


@app.command()
def neighbours(
    context: typer.Context,
    pair: Annotated[str, typer.Argument(metavar="PAIR", help="A row's id: perturbation_gene.")],
    space: Spaces,
    centre: Centre = False,
    power: Power = 2.0,
    de_power: DePower = None,
    k: Nearest = None,
    axis: OnAxis = "gene",
    protocol: Annotated[Kind | None, typer.Option(help="By default folds for a labelled row, else test.")] = None,
    folds: Folds = 5,
    seed: Seed = 0,
    without: Annotated[list[str] | None, typer.Option(help="Labelled rows to leave out.")] = None,
    dataset: DatasetName = None,
    as_json: Json = False,
) -> None:
    """List the labelled rows behind a row's priors, heaviest first."""
    target = default_dataset(context.obj, dataset)
    found = derived_runs.neighbours_of(
        context.obj,
        target,
        pair,
        KnnSettings(
            tuple(split_names(space)),
            EvaluationProtocol(protocol or "folds", folds, seed),
            _similarity_settings(centre, power, de_power, k, axis, 0.0),
        ),
        protocol_chosen=protocol is not None,
        without=without or (),
    )
    result = json_shapes.neighbours(found.why, found.pair_ids, found.labels)
    lines = [f"prior of an effect {found.why.prior_de:.3f}, of up {found.why.prior_up:.3f}; {found.settings.describe()}"]
    lines += [
        f"{n['pair_id']:32} {n['label']:5} weight {n['weight']:.4f}  share {n['share']:.2%}"
        for n in result["neighbours"][:MOST_LISTED]
    ]
    show(result, as_json, "\n".join(lines))


@app.command()
def fuse(
    context: typer.Context,
    base: Annotated[str, typer.Option(help="The run whose rows are fused.")],
    others: Annotated[str, typer.Option("--with", metavar="B[,C]", help="Runs to fuse with it.")],
    w_de: Annotated[str, typer.Option(metavar="X[,Y]", help="Their weights for DE; the base takes what is left of 1.")],
    w_dir: Annotated[str, typer.Option(metavar="X[,Y]", help="Their weights for DIR.")],
    name: NewName,
    reference: Annotated[Reference, typer.Option(help="What percentiles are taken over: population or train.")] = "population",
    reference_run: Annotated[
        list[str] | None, typer.Option("--reference-run", metavar="B=RUN", help="A run on labelled rows for B's percentiles.")
    ] = None,
    by_support: Annotated[
        BySupport, typer.Option(help="Whether a kNN weighs more, or less, where it has more support: no, more or less.")
    ] = "no",
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Fuse runs by rank percentiles, as a new run."""
    with context.obj.store.read() as db:
        base_run, *with_runs = (runs.find_predicting(db, run) for run in (base, *split_names(others)))
        references = {
            runs.find_predicting(db, one).id: runs.find_predicting(db, run).id
            for one, run in map(read_reference, reference_run or ())
        }
    settings = FusionSettings(
        base_run.id,
        tuple(run.id for run in with_runs),
        read_weights(w_de),
        read_weights(w_dir),
        reference,
        references,
        by_support,
    )
    request = derived_runs.fusion_request(base_run.dataset, settings, name)
    _start_and_show(context.obj, request, Flag.PARTLY_COVERED, replace, as_json)


@app.command()
def decompose(
    context: typer.Context,
    base: Annotated[str, typer.Option(help="The run that was fused.")],
    fused: Annotated[str, typer.Option(help="The fusion of it.")],
    w_de: Annotated[float, typer.Option(help="The other component's weight for DE.")],
    w_dir: Annotated[float, typer.Option(help="Its weight for DIR.")],
    name: NewName,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Recover the other component of a published fusion, as a new run."""
    with context.obj.store.read() as db:
        found = runs.find_predicting(db, base)
    request = derived_runs.recovered_request(found.dataset, found.id, fused, (w_de, w_dir), name)
    _start_and_show(context.obj, request, Flag.UNCOVERED, replace, as_json)


def _start_and_show(workspace: Workspace, request: RunRequest, uncovered: Flag, replace: bool, as_json: bool) -> None:
    run = launch.start(workspace, request, replace=replace)
    say_if_named_otherwise(run, launch.name_of(request))
    with workspace.store.read() as db:
        n = predictions.flag_counts(db, run.id).get(uncovered, 0)
    show(
        {"run": run.name, "id": run.id, "rows": run.total, "uncovered": n},
        as_json,
        f"{run.name}: {run.total:,} rows, {n:,} uncovered",
    )
