"""The command `controls`: baselines without biology beside a run."""

from __future__ import annotations

from dataclasses import replace

import typer

from core.cli.base import show_result
from core.cli.names import RunName
from core.features.scores.space_controls import control_spaces, space_to_scramble
from core.runs.component_loader import control_expression_of, null_of_run
from core.scoring import run_scores
from core.scoring.baselines import add_expression
from core.scoring.controls import control_run
from core.store import pairs

app = typer.Typer()


@app.command()
def controls(context: typer.Context, run: RunName) -> None:
    """Show what baselines without biology score on a run's rows, and whether the run beats them."""
    with context.obj.store.read() as db:
        rows = run_scores.load_scored_rows(db, run)
        splits = pairs.frame(db, rows.run.dataset)["split"].to_numpy(dtype=object)
    null = null_of_run(context.obj, rows.run, rows.frame["pair_id"].tolist(), compute=True)
    found = control_run(rows, splits, None if null is None else null.values)
    found = add_expression(found, rows, control_expression_of(context.obj, rows.run.dataset))
    without_biology = control_spaces(rows, space_to_scramble(context.obj, rows.run, rows.index))
    found = replace(found, controls=(*found.controls, *without_biology))
    show_result(found)
