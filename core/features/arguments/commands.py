"""The commands of rubrics: list, add, run, rate, worth, and label, which draws texts for people to
read, and exports and imports their labels."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from core.base.errors import InputError
from core.base.fields.record import make
from core.base.file_io import read_file, replace_file
from core.base.result import plain
from core.base.types import LIVE_STATES
from core.cli.base import Detach, RunName, say_progress, show, show_list, show_result
from core.cli.settings import takes
from core.features.arguments import readings
from core.features.arguments.readings import ReadingSettings
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import SampleRequest

if TYPE_CHECKING:
    from core.features.arguments.rubric import Rubric
    from core.runs.workspace import Workspace
    from core.store.runs import Run


RubricName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="A rubric's name, as `rubric list` prints it.",
    ),
]
MOST_BYTES = 1 << 28  # of a file of labels


@takes(SampleRequest)
def label(
    context: typer.Context,
    name: RubricName,
    run: RunName,
    chosen: dict[str, Any],
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all labels as CSV.")
    ] = None,
    import_: Annotated[
        Path | None, typer.Option("--import", metavar="FILE", help="Import labels from CSV.")
    ] = None,
) -> None:
    """Draw texts of a run that people read for a rubric; export and import their answers."""
    wanted = make(SampleRequest, chosen)
    given = (("--sample", wanted.size), ("--export", export), ("--import", import_))
    asked = [option for option, value in given if value is not None]
    if len(asked) != 1:
        raise InputError(
            f"rubric label: got {', '.join(asked) or 'nothing to do'}, expected one of --sample,"
            " --export and --import"
        )
    rubric: Rubric = readings.find_rubric(context.obj, name)
    if wanted.size is not None:
        _draw(context.obj, rubric, run, wanted)
    elif export is not None:
        from core.features.arguments.labels import export_csv

        content, n = export_csv(context.obj, rubric, run)
        replace_file(export, content)
        show({"file": str(export), "labels": n}, f"{export}: {n:,} labels")
    elif import_ is not None:
        from core.features.arguments.labels import import_csv

        done = import_csv(context.obj, rubric, run, read_file(import_, MOST_BYTES), import_.name)
        counts = {name: getattr(done, name) for name in ("new", "changed", "known")}
        words = ", ".join(f"{n:,} {name}" for name, n in counts.items())
        show({"file": str(import_), **counts}, f"{import_}: labels {words}")


def _draw(workspace: Workspace, rubric: Rubric, run: str, wanted: SampleRequest) -> None:
    from core.features.arguments.labels import draw_sample

    sample = draw_sample(workspace, rubric, run, wanted.size or 0, wanted.design, wanted.seed)
    roles = Counter(text.role or rubric.unit for text in sample.texts)
    text = [
        (
            f"{len(sample.texts):,} texts of {run} for {rubric.name}, {wanted.design}, seed"
            f" {wanted.seed}: sample {sample.id}"
        ),
        *(f"{n:>9,}  {role}" for role, n in roles.items()),
        "Read them on the page Arguments, tab Label (make app).",
    ]
    facts = {
        "rubric": sample.rubric,
        "run": sample.run,
        "sample": sample.id,
        "by": sample.design,
        "seed": sample.seed,
    }
    show(
        {**facts, "reading": sample.reading or None, "n": len(sample.texts), "roles": dict(roles)},
        "\n".join(text),
    )


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
    ),
]
Answer = Annotated[
    str | None, typer.Option(help="The answer that counts; by default the rubric's first.")
]


@app.command("list")
def list_(context: typer.Context) -> None:
    """List the rubrics: those that a rule answers, then those that were added."""
    show_list(
        "rubrics",
        plain(readings.list_rubrics(context.obj)),
        ("name", "unit", "judge", "question"),
        "",
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
    rubric = readings.add_rubric_file(context.obj, file)
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

    NAME claims: what briefs claim about genes. NAME clash: which points of debates are answered,
    ignored, or decide the judge. A model reads both: without --judge model and options for asking
    it, the newest finished reading is shown.
    """
    from core.features.arguments.findings import kinds

    kind = kinds().get(name)
    rubric = readings.find_rubric(context.obj, name) if kind is None else kind.schema.rubric
    by_rule = reading is None and (judge or rubric.judge) == "rule"
    is_asked = kind is None or judge or detach or chosen["endpoint"] is not None
    if (by_rule or reading is not None) and chosen["endpoint"] is not None:
        why = "no model is asked; use it with --judge model, and without --reading"
        raise typer.BadParameter(why, param_hint="--endpoint")
    if not by_rule and reading is None and is_asked:
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
    _show_rates(context.obj, readings.find_rubric(context.obj, name), run, (judge, reading), answer)


def _show_rates(
    workspace: Workspace,
    rubric: Rubric,
    run: str,
    judged_by: tuple[Judge | None, str | None],
    answer: str | None,
) -> None:
    """Print the rates of an answer. judged_by: the judge, and the name of its reading."""
    from core.base.errors import InputError
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
    from core.features.arguments.worth import load_outcomes, rubric_worth
    from core.scoring import run_scores

    with context.obj.store.read() as db:
        rows = run_scores.load_scored_rows(db, run)
        outcomes = load_outcomes(db, rows)
    tried = [readings.find_rubric(context.obj, each) for each in split_names(names)]
    answers = [
        (rubric, readings.answers(context.obj, rubric, rows.run, judge, reading)[0])
        for rubric in tried
    ]
    show_result(rubric_worth(rows, outcomes, answers, answer))
