"""The options of commands that ask a model to read texts, where a command asks none."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from core.base.fields.record import make, options_of
from core.base.result import plain
from core.base.types import LIVE_STATES
from core.cli.base import Detach, say_progress, show, show_list, show_result
from core.cli.names import RunName, complete, complete_run
from core.cli.settings import takes
from core.features.arguments import rubrics
from core.features.arguments.label_commands import RubricName, label
from core.features.arguments.readings import ReadingSettings
from core.features.arguments.rubric import Rubric

if TYPE_CHECKING:
    from core.runs.workspace import Workspace
    from core.store.runs import Run


def refuse_model_options(chosen: Mapping[str, Any], why: str, *, detach: bool) -> None:
    """Raise BadParameter for the first option for asking a model that is not at its default, since
    it would have no effect.

    chosen: the command's settings by name. why: no model is asked, and what to do instead. detach:
    whether --detach was given.
    """
    for option in [*model_options(chosen), *(["--detach"] if detach else [])]:
        raise typer.BadParameter(why, param_hint=option)


def model_options(chosen: Mapping[str, Any]) -> list[str]:
    """Return the options for asking a model that are not at their defaults. chosen: the command's
    settings by name."""
    return [
        option.option
        for option in options_of(ReadingSettings)
        if chosen[option.name] != option.default
    ]


app = typer.Typer(no_args_is_help=True)


Judge = Literal["rule", "model"]
JudgedBy = Annotated[
    Judge | None,
    typer.Option("--judge", help="By default the rubric's rule if it has one, else a model."),
]
ReadingName = Annotated[
    str | None,
    typer.Option(
        "--reading",
        metavar="RUN",
        help="A model's finished reading by name or id; rate and worth take the newest by default.",
        autocompletion=complete_run,
    ),
]
Answer = Annotated[
    str | None, typer.Option(help="The answer that counts; by default the rubric's first.")
]


@app.command("list")
def list_(context: typer.Context) -> None:
    """List the rubrics: those that a rule answers, then those that were added."""
    show_list(
        "rubrics", plain(rubrics.list_all(context.obj)), ("name", "unit", "judge", "question"), ""
    )


@app.command()
def add(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.toml", help="name, question, answers, unit, roles, stages, pattern, …"
        ),
    ],
) -> None:
    """Add a rubric of the user's own, which people, a model or its pattern answer."""
    rubric = rubrics.add_file(context.obj, file)
    show(
        plain(rubric),
        f"{rubric.name}: {rubric.question} ({' / '.join(rubric.answers)}; judge: {rubric.judge})",
    )


@app.command("run")
@takes(ReadingSettings)
def run_(
    context: typer.Context,
    name: RubricName,
    run: RunName,
    chosen: dict[str, Any],
    judge: JudgedBy = None,
    reading: ReadingName = None,
    detach: Detach = False,
) -> None:
    """Answer a rubric for every text of a run that it asks about; show the rates by role.

    NAME claims: what briefs claim about genes, checked against knowledge packs. NAME clash: which
    points of debates are answered, ignored, or decide the judge. A model reads both: without
    --judge model and options for asking it, the newest finished reading is shown.
    """
    from core.features.arguments.finding_kinds import kinds

    kind = kinds().get(name)
    rubric = rubrics.find(context.obj, name) if kind is None else kind.schema.rubric
    by_rule = reading is None and (judge or rubric.judge) == "rule"
    if by_rule:
        refuse_model_options(
            chosen, f"{name} is answered by its rule; use it with --judge model", detach=detach
        )
    elif reading is not None:
        why = (
            "a finished reading is shown, which asks no model; leave out this option, or --reading"
        )
        refuse_model_options(chosen, why, detach=detach)
    elif kind is None or judge or detach or model_options(chosen):
        made = _read_by_model(context, rubric, run, make(ReadingSettings, chosen), detach)
        reading = made.id
        if made.status != "done":
            what = {
                "rubric": rubric.name,
                "run": run,
                "judge": "model",
                "reading": reading,
                "status": made.status,
            }
            show({**what, "roles": {}}, progress_line(made))
            return
    if kind is not None and not by_rule:
        from core.features.arguments.schema_reading import reading_of_run

        show_result(reading_of_run(context.obj, kind, run, reading))
        return
    _show_rates(context.obj, rubric, run, ("rule" if by_rule else "model", reading), None)


def _read_by_model(
    context: typer.Context, rubric: Rubric, run: str, settings: ReadingSettings, detach: bool
) -> Run:
    """Say what a reading costs and start it; return it as it is now."""
    from core.features.arguments import readings
    from core.runs.jobs import overview
    from core.store import runs

    plan = readings.plan_reading(context.obj, rubric, run, settings)
    expected = readings.estimate(context.obj, plan)
    n_calls, tokens = expected.expected.calls, expected.expected.prompt_tokens
    say_progress(
        f"{rubric.name}: {expected.texts:,} texts, about {n_calls:,} calls and {tokens:,.0f} tokens"
        " of prompts"
    )
    started = readings.start_reading(context.obj, rubric, run, plan=plan, detach=detach)
    with context.obj.store.read() as db:
        recorded = runs.find(db, started.id)
    [present] = overview.with_present_states(context.obj, [recorded])
    return present


def progress_line(run: Run) -> str:
    """Return a run's progress, and how to resume it if it ended early."""
    line = f"{run.name} ({run.id}): {run.status}, {run.done:,} rows done"
    if run.status in (*LIVE_STATES, "done"):
        return line
    return f"{line}; `perturbdesk jobs resume {shlex.quote(run.name)}` continues it"


app.command()(label)


@app.command()
def rate(
    context: typer.Context,
    name: RubricName,
    run: RunName,
    judge: JudgedBy = None,
    reading: ReadingName = None,
    answer: Answer = None,
) -> None:
    """Show how often a run's texts have an answer, by the judge, and corrected by people's
    labels."""
    _show_rates(context.obj, rubrics.find(context.obj, name), run, (judge, reading), answer)


def _show_rates(
    workspace: Workspace,
    rubric: Rubric,
    run: str,
    judged_by: tuple[Judge | None, str | None],
    answer: str | None,
) -> None:
    """Print the rates of an answer. judged_by: the judge, and the name of its reading."""
    from core.base.errors import InputError
    from core.features.arguments import readings
    from core.features.arguments.rates import load_rates

    answers, made_by = readings.answers(workspace, rubric, run, *judged_by)
    with workspace.store.read() as db:
        rates = load_rates(db, rubric, run, answers, made_by, answer)
    if rates is None:
        raise InputError(
            f"rubric {rubric.name}: {run} has no text that it asks about; expected at least one"
        )
    show_result(rates)


@app.command()
def worth(
    context: typer.Context,
    names: Annotated[
        str,
        typer.Argument(
            metavar="NAME[,NAME2…]",
            help="Rubrics that are tested together.",
            autocompletion=complete(rubrics.list_all, several=True),
        ),
    ],
    run: RunName,
    judge: JudgedBy = None,
    reading: ReadingName = None,
    answer: Answer = None,
) -> None:
    """Compare a run's rows with an answer and those without: hits, and contributions to DE and
    DIR."""
    from core.base.fields.setting import split_names
    from core.features.arguments import readings
    from core.features.arguments.worth import load_outcomes, rubric_worth
    from core.scoring import run_scores

    with context.obj.store.read() as db:
        rows = run_scores.load_scored_rows(db, run)
        outcomes = load_outcomes(db, rows)
    tried = [rubrics.find(context.obj, each) for each in split_names(names)]
    answers = [
        (rubric, readings.answers(context.obj, rubric, rows.run, judge, reading)[0])
        for rubric in tried
    ]
    show_result(rubric_worth(rows, outcomes, answers, answer))
