"""Commands that compute: score, compare, bench."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from core.actions.workspace import Workspace
from core.cli.base import Json, RunName, show
from core.errors import InputError, MissingPackage
from core.scoring import json_shapes, run_scores, sentences
from core.stats.bootstrap import BothAxes, ResamplingPlan, bootstrap_score, both_axes
from core.stats.slices import Slice, by_slice
from core.store import pairs, predictions, runs
from core.store.runs import Run

app = typer.Typer()

RunA = Annotated[str, typer.Argument(metavar="A", help="The name or id of a run.")]
RunB = Annotated[str, typer.Argument(metavar="B", help="The name or id of another run.")]


@app.command()
def score(
    context: typer.Context,
    run: RunName,
    by: Annotated[str | None, typer.Option(metavar="SLICE", help=f"One of: {', '.join(run_scores.SLICES)}.")] = None,
    seed: Annotated[int, typer.Option(help="The bootstrap's random seed.")] = 0,
    as_json: Json = False,
) -> None:
    """Score a run: AUROCs with intervals by row, perturbation, gene and both."""
    _, rows = _run_and_rows(context.obj, run)
    if by is not None:
        result = json_shapes.slices(_score_slices(rows, by))
        show(result, as_json, "\n".join(_slice_line(part) for part in result["slices"]))
        return
    found = run_scores.score_rows(rows, run_scores.submitted_scores(rows))
    counts = f"{found.n:,} rows, {found.n_labelled:,} labelled, {found.n_de:,} with an effect"
    if found.n_labelled == 0:
        show(json_shapes.score(found, None), as_json, f"{counts}: no labels here, so no score")
        return
    parts = {"DE": found.de, "DIR": found.dir, "mean": found.mean}
    lines = [f"{name:5} {sentences.interval_text(part.shown)}  {sentences.axes_text(part.shown)}" for name, part in parts.items()]
    show(json_shapes.score(found, _product_interval(rows, seed)), as_json, "\n".join([counts, *lines]))


def _score_slices(rows: pd.DataFrame, by: str) -> tuple[Slice, ...]:
    known = run_scores.available_slices(rows)
    if by not in known:
        raise InputError(f"score --by {by}: expected one of {', '.join(known)}")
    return by_slice(run_scores.label_array(rows), run_scores.submitted_scores(rows), run_scores.SLICES[by](rows), *_units(rows))


def _product_interval(rows: pd.DataFrame, seed: int) -> BothAxes:
    """Returns the mean score's bootstrap intervals over perturbations and genes at once."""
    scores, labels = run_scores.submitted_scores(rows), run_scores.label_array(rows)
    by_unit = {
        unit: bootstrap_score(labels, scores, ResamplingPlan(unit, seed), *_units(rows)).mean
        for unit in ("row", "pert", "gene", "two-way")
    }
    return both_axes(by_unit["row"], by_unit["pert"], by_unit["gene"], by_unit["two-way"])


def _units(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Returns the code of each row's perturbation and of its gene."""
    return run_scores.name_codes(rows["pert"]), run_scores.name_codes(rows["gene"])


def _slice_line(part: Mapping[str, Any]) -> str:
    mean = part["mean"]
    interval = f"{mean['estimate']:.3f} [{mean['low']:.3f}, {mean['high']:.3f}]" if mean else "–"
    return f"{part['name']:20} {part['n']:>7,} rows  mean {interval:24} cost {part['cost']:+.4f}"


def _run_and_rows(workspace: Workspace, run: str) -> tuple[Run, pd.DataFrame]:
    """Returns a run and its rows, with the columns of the row-count controls."""
    with workspace.store.read() as db:
        found = runs.find(db, run)
        return found, run_scores.add_count_controls(predictions.frame(db, found.id), pairs.frame(db, found.dataset))


@app.command()
def compare(context: typer.Context, a: RunA, b: RunB, as_json: Json = False) -> None:
    """Compare run B with run A, on the rows that both have."""
    (first, rows_a), (second, rows_b) = _run_and_rows(context.obj, a), _run_and_rows(context.obj, b)
    shared = run_scores.pair_runs(first, rows_a, second, rows_b)
    result = run_scores.compare_rows(shared.rows, shared.a, shared.b)
    words = sentences.comparison_sentences(result, first.name, second.name)
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
