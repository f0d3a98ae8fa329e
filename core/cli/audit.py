"""Commands that look for what a score does not show: audit debate, audit leakage."""

from __future__ import annotations

from typing import Annotated

import typer

from core.audit import debate_audit
from core.cli.base import Json, RunName, show
from core.errors import InputError
from core.scoring import json_shapes, run_scores
from core.store import datasets, pairs, predictions, runs, traces

app = typer.Typer(no_args_is_help=True)


@app.command()
def debate(context: typer.Context, run: RunName, as_json: Json = False) -> None:
    """Find out whether a run was a debate: collapsed roles, option answers, fallbacks."""
    with context.obj.store.read() as db:
        found = runs.find(db, run)
        result = debate_audit.audit_debate(
            traces.briefs(db, found.id), predictions.flag_counts(db, found.id), predictions.p_de_of(db, found.id)
        )
    if result.roles.empty:
        raise InputError(f"audit debate {run}: method {found.method}, its traces hold no briefs; expected a debate")
    counts = result.as_json()
    text = result.roles.to_string(index=False)
    text += f"\nfallbacks: DE {result.de_fallbacks}, DIR {result.dir_fallbacks}; distinct P(DE): {result.distinct_p_de}"
    show(counts, as_json, text)


@app.command()
def leakage(
    context: typer.Context,
    dataset: Annotated[str | None, typer.Option(help="By default the only one that is not the demo.")] = None,
    as_json: Json = False,
) -> None:
    """Score what row counts alone give away, and find genes that test rows share with labelled ones."""
    with context.obj.store.read() as db:
        found = datasets.find(db, dataset) if dataset else datasets.default(db)
        if found is None:
            raise InputError("audit leakage: this workspace has no dataset; import one first")
        rows = pairs.frame(db, found.id)
    result = json_shapes.leakage(run_scores.audit_leakage(rows))
    show(result, as_json, "\n".join(f"{key:34} {value}" for key, value in result.items() if key != "intervals"))
