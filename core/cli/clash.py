"""The command clash: which points of a run's debates are answered, ignored, or decide the judge, as a model reads them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.actions.reading_settings import ClashRequest, ReadingSettings
from core.cli import names
from core.cli.base import Detach, Json, say_progress, show
from core.cli.names import RunName
from core.cli.reading_options import refuse_model_options
from core.cli.settings import takes
from core.fields.record import make, values_of
from core.texts import table_lines

if TYPE_CHECKING:
    from core.scoring.clash_counts import RunClash

app = typer.Typer()
MOST_SHOWN = 20


@app.command()
@takes(ClashRequest)
def clash(
    context: typer.Context,
    run: RunName,
    chosen: dict[str, Any],
    reading: Annotated[
        str | None,
        typer.Option(
            "--reading",
            metavar="RUN",
            help="Show a finished reading by name or id, or the `newest`; makes no calls.",
            autocompletion=names.complete_run,
        ),
    ] = None,
    detach: Detach = False,
    as_json: Json = False,
) -> None:
    """Have a model read a run's debates: which points are answered, ignored, or decide the judge; quotations are checked."""
    from core.actions.clash import clash_of_run
    from core.cli.runs import progress_line
    from core.scoring import clash_counts

    asked = make(ClashRequest, chosen)
    if reading is None:
        started = _read(context, run, make(ReadingSettings, values_of(asked.reading)), detach)
        if started["status"] != "done":
            show({"run": run, **started}, as_json, progress_line({"id": started["reading"], **started}))
            return
        reading = started["reading"]
    else:
        why = "a finished reading is shown, which asks no model; leave out this option, or --reading"
        refuse_model_options(chosen, why, detach=detach)
    found = clash_of_run(context.obj, run, None if reading == "newest" else reading)
    points = clash_counts.select_points(found.points, asked.points)
    show(clash_counts.as_json(found, points), as_json, _text(found, points))


def _read(context: typer.Context, run: str, settings: ReadingSettings, detach: bool) -> dict[str, Any]:
    """Say what the reading costs and start it; its name, id, status, and how many rows are done."""
    from core.actions import readings
    from core.audit.clash import SPEECHES
    from core.cli.runs import list_records
    from core.store import runs

    plan = readings.plan_reading(context.obj, SPEECHES, run, settings)
    expected = readings.estimate(context.obj, plan).expected
    say_progress(f"clash: about {expected.calls:,} calls and {expected.prompt_tokens:,.0f} tokens of prompts")
    started = readings.start_reading(context.obj, SPEECHES, run, plan=plan, detach=detach)
    with context.obj.store.read() as db:
        [record] = list_records(context.obj, [runs.find(db, started.id)])
    return {"name": started.name, "reading": started.id, "status": record["status"], "done": record["done"]}


def _text(found: RunClash, points: Any) -> str:
    from core.scoring.clash_counts import describe_clash
    from core.scoring.rubric_words import worth_sentences

    counts = table_lines([asdict(count) for count in found.counts])
    lines = [describe_clash(found), "", *counts] if counts else [describe_clash(found)]
    lines += ["", *(sentence for each in found.worth for sentence in worth_sentences(each))] if found.worth else []
    shown = points.head(MOST_SHOWN)
    lines += ["", f"{len(shown):,} of {len(points):,} points:"] if len(points) else []
    for row in shown.itertuples():
        lines.append(f"  {row.pair_id} {row.side}, {row.status}{', decisive' if row.verdict else ''}: {row.point}")
        lines += [f"    {row.answered_by}: {row.answer}"] if row.answer else []
        lines += [f"    JUDGE: {row.verdict}"] if row.verdict else []
    return "\n".join(lines)
