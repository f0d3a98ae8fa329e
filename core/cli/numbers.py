"""Commands that compute: score, compare, bench."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from core.actions.workspace import Workspace
from core.cli.base import Json, RunName, show
from core.errors import InputError, MissingPackage
from core.scoring import json_shapes, run_scores, sentences
from core.scoring.compare_runs import compare_runs
from core.scoring.run_scores import RunRows
from core.scoring.slices import SLICES, available_slices, score_slices
from core.stats.bootstrap import BothAxes, ResamplingPlan, bootstrap_score, both_axes

app = typer.Typer()

RunA = Annotated[str, typer.Argument(metavar="A", help="The name or id of a run.")]
RunB = Annotated[str, typer.Argument(metavar="B", help="The name or id of another run.")]


@app.command()
def score(
    context: typer.Context,
    run: RunName,
    by: Annotated[str | None, typer.Option(metavar="SLICE", help=f"One of: {', '.join(SLICES)}.")] = None,
    seed: Annotated[int, typer.Option(help="The bootstrap's random seed.")] = 0,
    as_json: Json = False,
) -> None:
    """Score a run: AUROCs with intervals by row, perturbation, gene and both, and how it was scored."""
    rows = _load_rows(context.obj, run)
    if by is not None:
        known = available_slices(rows.frame)
        if by not in known:
            raise InputError(f"score --by {by}: expected one of {', '.join(known)}")
        result = json_shapes.slices(score_slices(rows, by), rows.scored)
        show(result, as_json, "\n".join([f"{rows.scored}:", *(_slice_line(part) for part in result["slices"])]))
        return
    found = run_scores.score_run(rows)
    product = None if rows.cells is not None or found.whole.n_labelled == 0 else _product_interval(rows, seed)
    show(json_shapes.score(found, product), as_json, "\n".join(sentences.score_sentences(found)))


def _product_interval(rows: RunRows, seed: int) -> BothAxes:
    """Returns the mean score's bootstrap intervals over perturbations and genes at once."""
    by_unit = {
        unit: bootstrap_score(rows.labels, rows.scores, ResamplingPlan(unit, seed), rows.pert, rows.gene).mean
        for unit in ("row", "pert", "gene", "two-way")
    }
    return both_axes(by_unit["row"], by_unit["pert"], by_unit["gene"], by_unit["two-way"])


def _slice_line(part: Mapping[str, Any]) -> str:
    mean = part["mean"]
    interval = f"{mean['estimate']:.3f} [{mean['low']:.3f}, {mean['high']:.3f}]" if mean else "–"
    return f"{part['name']:20} {part['n']:>7,} rows  mean {interval:24} cost {part['cost']:+.4f}"


def _load_rows(workspace: Workspace, run: str) -> RunRows:
    with workspace.store.read() as db:
        return run_scores.load_scored_rows(db, run)


@app.command()
def compare(context: typer.Context, a: RunA, b: RunB, as_json: Json = False) -> None:
    """Compare run B with run A, on the rows that both cover, scored alike."""
    first, second = _load_rows(context.obj, a), _load_rows(context.obj, b)
    result = compare_runs(first, second)
    words = sentences.comparison_sentences(result, first.run.name, second.run.name)
    show(json_shapes.comparison(result, words), as_json, "\n".join(words))


@app.command()
def bench(
    name: Annotated[str, typer.Argument(metavar="store|pages|bootstrap|knn|whatif|harness")], as_json: Json = False
) -> None:
    """Time the code against a plain implementation, or a lower bound, measured in the same run."""
    try:
        module = importlib.import_module(f"bench.{name}")
    except ModuleNotFoundError as error:
        if error.name == f"bench.{name}":
            raise InputError(f"bench {name}: no such benchmark; see the bench folder") from None
        raise MissingPackage(f"bench {name}: needs {error.name}; install requirements-dev.txt") from None
    result = module.run()
    show(result, as_json, "\n".join(f"{key:28} {value}" for key, value in result.items()))
