"""Commands that compute: score, compare, bench."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from core.base.errors import InputError, MissingPackage
from core.base.fields.setting import split_names
from core.cli.base import Output, RunName, show, show_result
from core.features import hooks
from core.features.scores.slicing import SLICES
from core.runs.workspace import Workspace

if TYPE_CHECKING:
    from core.scoring.run_scores import RunRows

app = typer.Typer()

# up to so many are resampled unless told otherwise, in less than half a minute
UNASKED_ROWS = 100_000
RunA = Annotated[
    str,
    typer.Argument(metavar="A", help="The name or id of a run."),
]
RunB = Annotated[
    str,
    typer.Argument(
        metavar="B[,C]",
        help="Another run by name or id, or several.",
    ),
]
Margin = Annotated[
    float | None,
    typer.Option(help="Test whether the runs are equal within this difference of the mean."),
]
Bootstrap = Annotated[
    bool | None,
    typer.Option(
        "--bootstrap/--no-bootstrap",
        help=(
            "Resample perturbations and genes for another interval of the mean, which takes"
            f" minutes for a million rows. By default with --json, of up to {UNASKED_ROWS:,} rows."
        ),
    ),
]


@app.command()
def score(
    context: typer.Context,
    run: RunName,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="gene|pert|SLICE",
            help=f"Each gene or perturbation with their means, or slices: {', '.join(SLICES)}.",
        ),
    ] = None,
    bootstrap: Bootstrap = None,
    seed: Annotated[int, typer.Option(help="The bootstrap's random seed.")] = 0,
) -> None:
    """Score a run: AUROCs with intervals by row, perturbation, gene and both, and how it was
    scored."""
    from core.features.scores.slices import SlicesResult
    from core.features.scores.slicing import SHORT_NAMES, available_slices
    from core.scoring import run_scores
    from core.scoring.other_scores import other_scores_of_run
    from core.scoring.score_result import score_result

    rows = _load_rows(context.obj, run)
    if by is not None:
        known = available_slices(rows.frame)
        slices = SHORT_NAMES.get(by, by)
        if slices not in known:
            raise InputError(f"score --by {by}: expected one of gene, pert, {', '.join(known)}")
        if bootstrap:
            raise InputError(
                f"score --by {by} --bootstrap: slices are not resampled, expected one of the two"
            )
        show_result(SlicesResult.of(rows, slices))
        return
    why = run_scores.why_not_resampled(rows)
    if bootstrap and why:
        raise InputError(
            f"score {rows.run.name} --bootstrap: {why}, expected a run with labels that is scored"
            " over all rows"
        )
    is_unasked = bootstrap is None and Output.as_json and len(rows) <= UNASKED_ROWS and not why
    product = run_scores.resample_mean(rows, seed) if bootstrap or is_unasked else None
    with context.obj.store.read() as db:
        result = score_result(db, rows, run_scores.score_run(rows))
    show_result(replace(result, product=product, others=other_scores_of_run(rows, result.score)))


def _load_rows(workspace: Workspace, run: str) -> RunRows:
    from core.scoring import run_scores

    with workspace.store.read() as db:
        return run_scores.load_scored_rows(db, run)


@app.command()
def compare(context: typer.Context, a: RunA, b: RunB, margin: Margin = None) -> None:
    """Compare run B with run A, on the rows that both cover, scored alike; or several runs, with
    corrected p-values."""
    from core.scoring.compare_runs import SeveralComparisons, compare_runs

    if margin is not None and margin <= 0:
        raise InputError(f"compare --margin {margin}: expected a difference above 0")
    first, *others = (_load_rows(context.obj, run) for run in (a, *split_names(b)))
    if not others:
        raise InputError("compare: got one run, expected two or more")
    results = [replace(compare_runs(first, other), margin=margin) for other in others]
    for count in hooks("looks"):
        results = count(context.obj, results)
    show_result(results[0] if len(results) == 1 else SeveralComparisons.of(results))


@app.command()
def bench(
    name: Annotated[
        str,
        typer.Argument(metavar="store|tables|pages|bootstrap|knn|whatif|harness"),
    ],
    rows: Annotated[
        int | None,
        typer.Option(min=1, help="store, tables: measure this many rows instead, such as 1000000."),
    ] = None,
) -> None:
    """Time the code against a plain implementation, or a lower bound, measured in the same run."""
    try:
        module = importlib.import_module(f"bench.{name}")
    except ModuleNotFoundError as error:
        if error.name == f"bench.{name}":
            raise InputError(f"bench {name}: no such benchmark; see the bench folder") from None
        raise MissingPackage(
            f"bench {name}: needs {error.name}; install requirements-dev.txt"
        ) from None
    if not hasattr(module, "run"):
        raise InputError(f"bench {name}: a part of other benchmarks; see the bench folder")
    if rows is not None and not hasattr(module, "run_large"):
        raise InputError(f"bench {name}: has one size; --rows is for store and tables")
    result = module.run() if rows is None else module.run_large(rows)
    show(result, "\n".join(f"{key:28} {value}" for key, value in result.items()))


@app.command()
def controls(context: typer.Context, run: RunName) -> None:
    """Show what baselines without biology score on a run's rows, and whether the run beats them."""
    from core.features.scores.space_controls import control_spaces, space_to_scramble
    from core.runs.component_loader import control_expression_of, null_of_run
    from core.scoring import run_scores
    from core.scoring.baselines import add_expression
    from core.scoring.controls import control_run
    from core.store import pairs

    with context.obj.store.read() as db:
        rows = run_scores.load_scored_rows(db, run)
        splits = pairs.frame(db, rows.run.dataset)["split"].to_numpy(dtype=object)
    null = null_of_run(context.obj, rows.run, rows.frame["pair_id"].tolist(), compute=True)
    found = control_run(rows, splits, None if null is None else null.values)
    found = add_expression(found, rows, control_expression_of(context.obj, rows.run.dataset))
    without_biology = control_spaces(rows, space_to_scramble(context.obj, rows.run, rows.index))
    found = replace(found, controls=(*found.controls, *without_biology))
    show_result(found)
