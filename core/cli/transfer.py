"""Commands that lend labels and mix runs: knn, neighbours, fuse, decompose."""

from __future__ import annotations

from typing import Annotated

import typer

from core.actions import transfer
from core.actions.workspace import Workspace
from core.cli.base import Json, show
from core.errors import InputError
from core.scoring import json_shapes, sentences
from core.store import Cursor, predictions, runs
from core.store.runs import Run
from core.transfer.fusion import Reference
from core.transfer.knn import Weighting
from core.transfer.knn_settings import KnnSettings
from core.transfer.labelled_rows import Axis
from core.transfer.protocols import EvaluationProtocol, Kind, SimilaritySettings
from core.types import Flag

app = typer.Typer()

Spaces = Annotated[str, typer.Option("--space", metavar="S[,S2]", help="Gene spaces; several are averaged.")]
Centre = Annotated[bool, typer.Option("--centre", help="Take the mean of the labelled genes away first.")]
Power = Annotated[float, typer.Option(help="Weight = similarity ^ power.")]
DePower = Annotated[float | None, typer.Option(help="Another power for the prior of an effect.")]
Nearest = Annotated[int | None, typer.Option("--k", help="Only so many nearest genes.")]
OnAxis = Annotated[Axis, typer.Option("--axis", help="What has to be alike: gene, pert or both.")]
Strength = Annotated[
    float, typer.Option("--support-aware", help="Draw well supported priors of an effect to a half, 0 to 1; sets --de-power 1.")
]
Folds = Annotated[int, typer.Option(help="Parts that perturbations and genes are each cut into, under folds.")]
Seed = Annotated[int, typer.Option(help="Of the cut into folds.")]
DatasetName = Annotated[str | None, typer.Option("--dataset", help="By default the only one that is not the demo.")]
Replace = Annotated[bool, typer.Option("--replace", help="An existing run of that name goes.")]
LISTED = 20  # neighbours printed for people; --json has all
NewName = Annotated[str, typer.Option("--name", help="Of the new run.")]


def _setting(
    centre: bool, power: float, de_power: float | None, k: int | None, axis: Axis, strength: float
) -> SimilaritySettings:
    own = 1.0 if strength and de_power is None else de_power
    return SimilaritySettings(Weighting(power, own, k, axis), centre, strength)


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


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
    name: Annotated[str | None, typer.Option(help="Also save the priors as a run.")] = None,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Labels lent by similar genes: coverage and score, beside the score of a space that knows nothing."""
    target = transfer.default_dataset(context.obj, dataset)
    plan = KnnSettings(
        _names(space), EvaluationProtocol(protocol, folds, seed), _setting(centre, power, de_power, k, axis, strength)
    )
    prepared = transfer.prepare(context.obj, target, plan)
    found = prepared.evaluation()
    made = None
    if name:
        made = transfer.save_knn(context.obj, target, plan, name, replace=replace, prepared=prepared)
    result = json_shapes.knn(found, prepared.seconds) | ({"run": made.name} if made else {})
    show(
        result,
        as_json,
        "\n".join(
            [plan.describe(), *sentences.knn_sentences(found, plan.protocol), *([f"saved as {made.name}"] if made else [])]
        ),
    )


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
    """The labelled rows behind a row's priors, heaviest first."""
    target = transfer.default_dataset(context.obj, dataset)
    found = transfer.neighbours_of(
        context.obj,
        target,
        pair,
        KnnSettings(
            _names(space), EvaluationProtocol(protocol or "folds", folds, seed), _setting(centre, power, de_power, k, axis, 0.0)
        ),
        chosen=protocol is not None,
        without=without or (),
    )
    result = json_shapes.neighbours(found.why, found.pair_ids, found.labels)
    lines = [f"prior of an effect {found.why.prior_de:.3f}, of up {found.why.prior_up:.3f}; {found.plan.describe()}"]
    lines += [
        f"{n['pair_id']:32} {n['label']:5} weight {n['weight']:.4f}  share {n['share']:.2%}"
        for n in result["neighbours"][:LISTED]
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
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Rank-percentile fusion of runs, as a run."""
    with context.obj.store.read() as db:
        ids = tuple(runs.find(db, run).id for run in (base, *_names(others)))
        references = dict(_reference(db, told, ids, reference) for told in reference_run or ())
    wanted = transfer.Fusion(ids[0], ids[1:], transfer.weights_from(w_de), transfer.weights_from(w_dir), reference, references)
    _show_made(context.obj, transfer.save_fusion(context.obj, wanted, name, replace=replace), Flag.PARTLY_COVERED, as_json)


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
    """The other component of a published fusion, as a run."""
    made = transfer.save_recovered(context.obj, base, fused, (w_de, w_dir), name, replace=replace)
    _show_made(context.obj, made, Flag.UNCOVERED, as_json)


def _reference(db: Cursor, told: str, ids: tuple[str, ...], reference: Reference) -> tuple[str, str]:
    """(component, reference run) by id from B=RUN."""
    component, _, run = told.rpartition("=")
    if not component or not run:
        raise InputError(f"--reference-run {told}: expected B=RUN")
    if reference != "train":
        raise InputError(f"--reference-run {told}: nothing is taken against it under --reference {reference}; expected train")
    found = runs.find(db, component)
    if found.id not in ids:
        raise InputError(f"--reference-run {told}: {found.name} is not fused here; expected the base or one of --with")
    return found.id, runs.find(db, run).id


def _show_made(workspace: Workspace, run: Run, uncovered: Flag, as_json: bool) -> None:
    with workspace.store.read() as db:
        n = predictions.flag_counts(db, run.id).get(uncovered, 0)
    show(
        {"run": run.name, "id": run.id, "rows": run.total, "uncovered": n},
        as_json,
        f"{run.name}: {run.total:,} rows, {n:,} uncovered",
    )
