"""Command about the evidence of a run: attribute."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import typer

from core.actions import attribution
from core.actions.attribution import AttributionRequest
from core.cli.base import Estimate, Json, say_arm, say_progress, show
from core.cli.names import RunName
from core.cli.settings import takes
from core.experiments.attribution import report_attribution
from core.experiments.attribution_words import attribution_json, attribution_lines, cost_sentence
from core.fields.record import make

app = typer.Typer()


@app.command()
@takes(AttributionRequest)
def attribute(
    context: typer.Context,
    run: RunName,
    chosen: dict[str, Any],
    estimate: Estimate = False,
    as_json: Json = False,
) -> None:
    """Say which evidence moved a run: each tool left out, beside asking again. Interrupted, the same command resumes."""
    asked = make(AttributionRequest, chosen, run=run)
    plan = attribution.plan_attribution(context.obj, asked)
    cost = cost_sentence(plan.cost, plan.left, len(plan.spec.rows))
    if estimate:
        shape = {"runs": plan.left, "rows": len(plan.spec.rows), "tools": list(plan.spec.tools), **asdict(plan.cost)}
        show(shape, as_json, cost)
        return
    say_progress(cost)
    saved = attribution.run_attribution(context.obj, plan, progress=say_arm)
    with context.obj.store.read() as db:
        found = report_attribution(db, saved.spec, saved.runs)
    show(attribution_json(found), as_json, "\n".join(attribution_lines(found)))
