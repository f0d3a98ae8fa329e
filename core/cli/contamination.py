"""Command about how much of a run is memory: contamination."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import typer

from core.actions import contamination as actions
from core.actions.contamination import ContaminationRequest
from core.cli.base import Estimate, Json, say_arm, say_progress, show
from core.cli.names import RunName
from core.cli.settings import takes
from core.experiments.attribution_words import cost_sentence
from core.experiments.contamination import report_contamination
from core.experiments.contamination_words import contamination_json, contamination_lines, unknown_lines
from core.fields.record import make
from core.store import runs

app = typer.Typer()


@app.command()
@takes(ContaminationRequest)
def contamination(
    context: typer.Context,
    run: RunName,
    chosen: dict[str, Any],
    estimate: Estimate = False,
    as_json: Json = False,
) -> None:
    """Say how much of a run is memory of gene names: coded, swapped, alone, or hidden. Interrupted, the same command resumes."""
    with context.obj.store.read() as db:
        named = runs.find_predicting(db, run)
    unknown = unknown_lines(named)
    if unknown is not None:
        show({"run": named.name, "known": False, "verdict": unknown[0], "limits": unknown[1:]}, as_json, "\n".join(unknown))
        return
    plan = actions.plan_contamination(context.obj, make(ContaminationRequest, chosen, run=run))
    cost = cost_sentence(plan.cost, plan.left, len(plan.spec.rows))
    if estimate:
        shape = {
            "runs": plan.left,
            "rows": len(plan.spec.rows),
            "arms": list(plan.spec.arms),
            **asdict(plan.cost),
        }
        show(shape, as_json, cost)
        return
    say_progress(cost)
    saved = actions.run_contamination(context.obj, plan, progress=say_arm)
    with context.obj.store.read() as db:
        found = report_contamination(db, saved)
    show(contamination_json(found), as_json, "\n".join(contamination_lines(found)))
