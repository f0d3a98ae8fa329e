"""Commands about rubrics: rubric list, rubric add, rubric run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.actions import rubrics
from core.audit.rubric import Rubric
from core.cli.base import Json, RunName, say, show

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(no_args_is_help=True)

RubricName = Annotated[str, typer.Argument(metavar="NAME", help="A rubric's name, as `rubric list` prints it.")]


class Judge(StrEnum):
    """What answers a rubric."""

    RULE = "rule"
    MODEL = "model"


@app.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """List the rubrics: those that a rule answers, then those that were added."""
    records = [_record(rubric) for rubric in rubrics.list_all(context.obj)]
    lines = [f"{each['name']:20} {each['unit']:8} {each['judge']:6} {each['question']}" for each in records]
    show({"rubrics": records}, as_json, "\n".join(lines))


@app.command()
def add(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="name, question, answers, unit, roles, stages, pattern, …")],
    as_json: Json = False,
) -> None:
    """Add a rubric of one's own, which people, a model or its pattern answer."""
    record = _record(rubrics.add_file(context.obj, file))
    show(record, as_json, f"{record['name']}: {record['question']} ({' / '.join(record['answers'])}; judge: {record['judge']})")


def _record(rubric: Rubric) -> dict[str, Any]:
    return {
        **{"name": rubric.name, "question": rubric.question, "judge": Judge.RULE if rubric.is_answered_by_rule else Judge.MODEL},
        **{"unit": rubric.unit, "answers": rubric.answers, "roles": rubric.roles, "stages": rubric.stages},
        **{"built_in": bool(rubric.rule), "pattern": rubric.pattern},
    }


@app.command("run")
def run_(
    context: typer.Context,
    name: RubricName,
    run: RunName,
    judge: Annotated[Judge | None, typer.Option(help="By default the rule where the rubric has one, otherwise a model.")] = None,
    endpoint: Annotated[str | None, typer.Option(help="A model server's address ending in /v1.")] = None,
    model: Annotated[str | None, typer.Option(help="The model to ask; by default the server's first.")] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Return at once; a worker process goes on reading.")] = False,
    as_json: Json = False,
) -> None:
    """Answer a rubric for every text of a run that it asks about; the counts by role."""
    rubric = rubrics.find(context.obj, name)
    if (judge or (Judge.RULE if rubric.is_answered_by_rule else Judge.MODEL)) is Judge.RULE:
        _refuse_model_options(name, endpoint, model, detach)
        _show_counts(context, rubric, run, as_json)
    else:
        _read_by_model(context, rubric, run, (endpoint, model, detach), as_json)


def _refuse_model_options(name: str, endpoint: str | None, model: str | None, detach: bool) -> None:
    given = {"--endpoint": endpoint, "--model": model, "--detach": detach}
    for option, value in given.items():
        if value:
            raise typer.BadParameter(f"{name} is answered by its rule; use it with --judge model", param_hint=option)


def _show_counts(context: typer.Context, rubric: Rubric, run: str, as_json: bool) -> None:
    from core.audit.rules.registry import answer_by_rule
    from core.store import rubrics as stored
    from core.store import runs

    with context.obj.store.read() as db:
        found = runs.find(db, run)
        texts = stored.texts(db, found.id, rubric)
    answers = answer_by_rule(rubric, texts)
    _show_answers(rubric, answers, {"rubric": rubric.name, "run": found.name, "judge": Judge.RULE}, as_json)


def _show_answers(rubric: Rubric, answers: pd.DataFrame, what: dict[str, Any], as_json: bool) -> None:
    from core.audit.answer_counts import count_answers

    counts = count_answers(rubric, answers)
    lines = [rubric.question, *(_describe(role, found, rubric.unit) for role, found in counts.items())]
    show({**what, "question": rubric.question, "roles": counts}, as_json, "\n".join(lines))


def _describe(role: str, found: dict[str, Any], unit: str) -> str:
    """A role, its texts, and of each answer how many there are and their share."""
    total = found["n"]
    answers = [f"{answer} {n:,}" + (f" ({n / total:.0%})" if total else "") for answer, n in found["answers"].items()]
    unanswered = f"; {found['unanswered']:,} without an answer" if found["unanswered"] else ""
    return f"{role:8} {total:>7,} {unit}s: {', '.join(answers)}{unanswered}"


def _read_by_model(
    context: typer.Context, rubric: Rubric, run: str, asked: tuple[str | None, str | None, bool], as_json: bool
) -> None:
    """Says what the reading costs, starts it, and shows its answers, or, if it has not ended, the run that reads."""
    from core.actions import readings
    from core.cli.runs import list_records
    from core.store import runs

    endpoint, model, detach = asked
    plan = readings.plan_reading(context.obj, rubric, run, endpoint=endpoint, model=model)
    expected = readings.estimate(context.obj, plan)
    calls, tokens = expected.expected.calls, expected.expected.prompt_tokens
    say(f"{rubric.name}: {expected.texts:,} texts, about {calls:,} calls and {tokens:,.0f} tokens of prompts")
    started = readings.start_reading(context.obj, rubric, run, plan=plan, detach=detach)
    with context.obj.store.read() as db:
        reading = runs.find(db, started.id)
    [record] = list_records(context.obj, [reading])
    what = {"rubric": rubric.name, "run": run, "judge": Judge.MODEL, "reading": reading.id, "status": record["status"]}
    if record["status"] == "done":
        _show_answers(rubric, readings.answers(context.obj, rubric, run, "model", reading.id)[0], what, as_json)
    else:
        show({**what, "roles": {}}, as_json, f"{reading.name} ({reading.id}): {record['status']}, {record['done']:,} rows done")
