"""Commands that compute: score, compare, bench."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Annotated, Any

import pandas as pd
import typer

from core.actions.workspace import Workspace
from core.cli.base import Json, RunName, show
from core.errors import InputError, MissingPackage
from core.scoring import json_shapes, run_scores, sentences
from core.stats.bootstrap import ResamplingPlan, bootstrap_score, both_axes
from core.stats.slices import by_slice
from core.store import pairs, predictions, runs
from core.store.runs import Run

app = typer.Typer()


@app.command()
def score(
    context: typer.Context,
    run: RunName,
    by: Annotated[str | None, typer.Option(metavar="SLICE", help=f"One of: {', '.join(run_scores.SLICES)}.")] = None,
    seed: Annotated[int, typer.Option(help="Of the product bootstrap.")] = 0,
    as_json: Json = False,
) -> None:
    """AUROCs of a run with intervals by row, perturbation, gene and both."""
    _, rows_ = _counted(context.obj, run)
    scores, labels = run_scores.submitted_scores(rows_), run_scores.label_array(rows_)
    pert, gene = run_scores.name_codes(rows_["pert"]), run_scores.name_codes(rows_["gene"])
    if by is not None:
        known = run_scores.available_slices(rows_)
        if by not in known:
            raise InputError(f"score --by {by}: expected one of {', '.join(known)}")
        result = json_shapes.slices(by_slice(labels, scores, run_scores.SLICES[by](rows_), pert, gene))
        show(result, as_json, "\n".join(_slice_line(part) for part in result["slices"]))
        return
    found = run_scores.score_rows(rows_, scores)
    text = [f"{found.n:,} rows, {found.n_labelled:,} labelled, {found.n_de:,} with an effect"]
    if found.n_labelled == 0:
        show(json_shapes.score(found, None), as_json, f"{text[0]}: no labels here, so no score")
        return
    by_unit = {
        unit: bootstrap_score(labels, scores, ResamplingPlan(unit, seed), pert, gene).mean
        for unit in ("row", "pert", "gene", "two-way")
    }
    product = both_axes(by_unit["row"], by_unit["pert"], by_unit["gene"], by_unit["two-way"])
    parts = {"DE": found.de, "DIR": found.dir, "mean": found.mean}
    text += [f"{name:5} {sentences.interval_text(part.two_way)}  by perturbations and genes" for name, part in parts.items()]
    show(json_shapes.score(found, product), as_json, "\n".join(text))


def _slice_line(part: Mapping[str, Any]) -> str:
    mean = part["mean"]
    told = f"{mean['estimate']:.3f} [{mean['low']:.3f}, {mean['high']:.3f}]" if mean else "–"
    return f"{part['name']:20} {part['n']:>7,} rows  mean {told:24} cost {part['cost']:+.4f}"


def _counted(workspace: Workspace, run: str) -> tuple[Run, pd.DataFrame]:
    """A run and its rows with what row counts give away."""
    with workspace.store.read() as db:
        found = runs.find(db, run)
        return found, run_scores.add_count_controls(predictions.frame(db, found.id), pairs.frame(db, found.dataset))


@app.command()
def compare(context: typer.Context, a: RunName, b: RunName, as_json: Json = False) -> None:
    """Is run B better than run A, on the rows that both have?"""
    (first, rows_a), (second, rows_b) = _counted(context.obj, a), _counted(context.obj, b)
    shared = run_scores.pair_runs(first, rows_a, second, rows_b)
    result = run_scores.compare_rows(shared.rows, shared.a, shared.b)
    words = sentences.comparison_sentences(result, first.name, second.name)
    show(json_shapes.comparison(result, words), as_json, "\n".join(words))


@app.command()
def bench(
    name: Annotated[str, typer.Argument(metavar="store|pages|bootstrap|knn|whatif|harness")], as_json: Json = False
) -> None:
    """Measure ourselves against a plain implementation or a floor, both in this run."""
    try:
        module = importlib.import_module(f"bench.{name}")
    except ModuleNotFoundError as error:
        if error.name == f"bench.{name}":
            raise InputError(f"bench {name}: no such benchmark; see the bench folder") from None
        raise MissingPackage(f"bench {name}: needs {error.name}; install requirements-dev.txt") from None
    result = module.run()
    show(result, as_json, "\n".join(f"{key:28} {value}" for key, value in result.items()))
