"""Command about the evidence of a run: attribute."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from core.actions import attribution
from core.actions.attribution import CONCURRENCY, REPEATS, AttributionRequest
from core.cli.base import Json, RunName, say_progress, show
from core.experiments.attribution import report_attribution
from core.experiments.attribution_words import attribution_json, attribution_lines, cost_sentence
from core.fields.option import split_names

app = typer.Typer()


@app.command()
def attribute(
    context: typer.Context,
    run: RunName,
    rows: Annotated[str, typer.Option(help='Among the run\'s own, such as "sample=100", "split=train", "ids=FILE".')],
    tools: Annotated[str, typer.Option(help="Tools to leave out, one at a time; by default all that answered.")] = "",
    repeats: Annotated[int, typer.Option(help="How often every arm is asked, each time under seeds of its own.")] = REPEATS,
    endpoint: Annotated[str | None, typer.Option("--endpoint", help="A model server's address ending in /v1.")] = None,
    concurrency: Annotated[int, typer.Option(help="How many calls to wait for at once.")] = CONCURRENCY,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what it would cost, and start nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Say which evidence moved a run: each tool left out, beside asking again. Interrupted, the same command resumes."""
    asked = AttributionRequest(run, rows, tuple(split_names(tools)), repeats, endpoint, concurrency)
    plan = attribution.plan_attribution(context.obj, asked)
    cost = cost_sentence(plan.cost, plan.left, len(plan.spec.rows))
    if estimate:
        shape = {"runs": plan.left, "rows": len(plan.spec.rows), "tools": list(plan.spec.tools), **asdict(plan.cost)}
        show(shape, as_json, cost)
        return
    say_progress(cost)
    saved = attribution.run_attribution(context.obj, plan, progress=_say_arm)
    with context.obj.store.read() as db:
        found = report_attribution(db, saved.spec, saved.runs)
    show(attribution_json(found), as_json, "\n".join(attribution_lines(found)))


def _say_arm(arm: str, done: int, total: int) -> None:
    say_progress(f"{done + 1} of {total}: {arm}")
