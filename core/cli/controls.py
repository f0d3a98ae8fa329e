"""The command `controls`: baselines without biology beside a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import typer

from core.actions import knn_numbers
from core.actions.cells import control_expression_of
from core.cli.base import Json, RunName, show_scores
from core.scoring import control_shapes, run_scores, sentences
from core.scoring.baselines import add_expression
from core.scoring.controls import Control, RunControls, control_run, reverse_value
from core.scoring.space_controls import control_spaces
from core.store import pairs
from core.texts import number_text

app = typer.Typer()


@app.command()
def controls(context: typer.Context, run: RunName, as_json: Json = False) -> None:
    """Show what baselines without biology score on a run's rows, and whether the run beats them."""
    with context.obj.store.read() as db:
        rows = run_scores.load_scored_rows(db, run)
        splits = pairs.frame(db, rows.run.dataset)["split"].to_numpy(dtype=object)
    null = knn_numbers.null_of_run(context.obj, rows.run, rows.frame["pair_id"].tolist(), compute=True)
    found = control_run(rows, splits, None if null is None else null.values)
    found = add_expression(found, rows, control_expression_of(context.obj, rows.run.dataset))
    without_biology = control_spaces(rows, knn_numbers.space_to_scramble(context.obj, rows.run, rows.index))
    found = replace(found, controls=(*found.controls, *without_biology))
    show_scores(rows.marks, control_shapes.controls(found), as_json, "\n".join(_controls_lines(found)))


def _controls_lines(found: RunControls) -> list[str]:
    judged = (("DE", found.verdicts.de), ("DIR", found.verdicts.dir))
    return [
        *(f"{sentences.verdict_sentence(axis, verdict)}." for axis, verdict in judged if verdict.beats is not None),
        "",
        f"Controls, {found.unit}, {sentences.scored_text(found.scored)}:",
        *_table(found.controls),
        "",
        "Scores that the sampling alone gives away; a run need not beat them:",
        *_table(found.fingerprint),
        *(f"{each.name}, reversed: {_reverse_text(each)}" for each in found.fingerprint),
    ]


def _reverse_text(control: Control) -> str:
    values = (("DE", reverse_value(control.de)), ("DIR", reverse_value(control.dir)))
    return ", ".join(f"{name} {number_text(value)}" for name, value in values if value is not None)


def _table(controls: Iterable[Control]) -> list[str]:
    lines = [f"{'':36} {'DE':22} {'DIR':22} {'mean':22}"]
    for each in controls:
        parts = (("DE", each.pooled_de), ("DIR", each.pooled_dir))
        of_parts = ", ".join(f"{name} {sentences.interval_text(value)}" for name, value in parts if value)
        pooled = f"pooled {of_parts}" if of_parts else ""
        note = f" ({each.note})" if each.note else ""
        values = ("–" if value is None else sentences.interval_text(value) for value in (each.de, each.dir, each.mean))
        lines.append(f"{each.name:36} {' '.join(f'{value:22}' for value in values)} {pooled}{note}".rstrip())
    return lines
