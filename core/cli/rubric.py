"""Commands behind `rubric`: list, add, run, label, rate, worth."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from core.actions import rubrics
from core.actions.reading_settings import ReadingSettings
from core.audit.clash import SPEECHES
from core.audit.rubric import Rubric
from core.audit.rules.claims import RULE as CLAIMS
from core.cli import names
from core.cli.base import Detach, Json, say_progress, show
from core.cli.label import label
from core.cli.names import RubricName, RunName
from core.cli.reading_options import refuse_model_options
from core.cli.settings import takes
from core.fields.record import make

if TYPE_CHECKING:
    from core.actions.workspace import Workspace
    from core.scoring.rubric_rates import RateTexts

app = typer.Typer(no_args_is_help=True)


class Judge(StrEnum):
    """What answers a rubric."""

    RULE = "rule"
    MODEL = "model"


JudgedBy = Annotated[Judge | None, typer.Option("--judge", help="By default the rubric's rule if it has one, else a model.")]
ReadingName = Annotated[
    str | None,
    typer.Option(
        "--reading",
        metavar="RUN",
        help="A model's finished reading by name or id; rate and worth take the newest by default.",
        autocompletion=names.complete_run,
    ),
]
Answer = Annotated[str | None, typer.Option(help="The answer that counts; by default the rubric's first.")]


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
    """Add a rubric of the user's own, which people, a model or its pattern answer."""
    record = _record(rubrics.add_file(context.obj, file))
    show(record, as_json, f"{record['name']}: {record['question']} ({' / '.join(record['answers'])}; judge: {record['judge']})")


def _record(rubric: Rubric) -> dict[str, Any]:
    return {
        **{"name": rubric.name, "question": rubric.question, "judge": Judge.RULE if rubric.is_answered_by_rule else Judge.MODEL},
        **{"unit": rubric.unit, "answers": rubric.answers, "roles": rubric.roles, "stages": rubric.stages},
        **{"built_in": bool(rubric.rule), "pattern": rubric.pattern},
    }


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
    as_json: Json = False,
) -> None:
    """Answer a rubric for every text of a run that it asks about; the counts by role.

    NAME claims: what briefs claim about genes, checked against knowledge packs. NAME clash: which points of debates are answered,
    ignored, or decide the judge.
    """
    from core.actions import readings

    rubric = SPEECHES if name == SPEECHES.name else rubrics.find(context.obj, name)
    by_rule = reading is None and (judge or (Judge.RULE if rubric.is_answered_by_rule else Judge.MODEL)) is Judge.RULE
    what: dict[str, Any] = {"rubric": rubric.name, "run": run, "judge": Judge.RULE if by_rule else Judge.MODEL}
    if by_rule:
        refuse_model_options(chosen, f"{name} is answered by its rule; use it with --judge model", detach=detach)
    elif reading is not None:
        why = "a finished reading is shown, which asks no model; leave out this option, or --reading"
        refuse_model_options(chosen, why, detach=detach)
        what |= {"reading": readings.answers(context.obj, rubric, run, "model", reading)[1], "status": "done"}
    else:
        record = _read_by_model(context, rubric, run, make(ReadingSettings, chosen), detach)
        what |= {"reading": record["id"], "status": record["status"]}
        if record["status"] != "done":
            from core.cli.runs import progress_line

            show({**what, "roles": {}}, as_json, progress_line(record))
            return
    lines, shape = _counts_of(context.obj, rubric, run, what.get("reading"))
    show({**what, **shape}, as_json, "\n".join(lines))


def _read_by_model(context: typer.Context, rubric: Rubric, run: str, settings: ReadingSettings, detach: bool) -> dict[str, Any]:
    """Say what a reading costs and start it; return its record."""
    from core.actions import readings
    from core.cli.runs import list_records
    from core.store import runs

    plan = readings.plan_reading(context.obj, rubric, run, settings)
    expected = readings.estimate(context.obj, plan)
    n_calls, tokens = expected.expected.calls, expected.expected.prompt_tokens
    say_progress(f"{rubric.name}: {expected.texts:,} texts, about {n_calls:,} calls and {tokens:,.0f} tokens of prompts")
    started = readings.start_reading(context.obj, rubric, run, plan=plan, detach=detach)
    with context.obj.store.read() as db:
        [record] = list_records(context.obj, [runs.find(db, started.id)])
    return record


def _counts_of(workspace: Workspace, rubric: Rubric, run: str, reading: str | None) -> tuple[list[str], dict[str, Any]]:
    """Return the answers of a rule, or of a finished reading, as lines and as JSON."""
    from core.actions import claims, clash, readings
    from core.audit.rubric import count_answers
    from core.scoring import claim_words, clash_counts

    answers, _ = readings.answers(workspace, rubric, run, "model" if reading else "rule", reading)
    if rubric == SPEECHES:
        found = clash.clash_of_run(workspace, run, reading)
        return clash_counts.describe_points(found), clash_counts.as_json(found)
    counts = count_answers(rubric, answers)
    lines = [rubric.question, *(_describe(role, found, rubric.unit) for role, found in counts.items())]
    shape = {"question": rubric.question, "roles": counts}
    if rubric == CLAIMS.rubric:
        made = claims.claims_of_run(workspace, run, "model" if reading else "rule", reading)
        return [*lines, "", *claim_words.list_claims(made)], shape | claim_words.as_json(made)
    return lines, shape


def _describe(role: str, found: dict[str, Any], unit: str) -> str:
    """Return a role, its texts, and of each answer how many there are and their share."""
    total = found["n"]
    answers = [f"{answer} {n:,}" + (f" ({n / total:.0%})" if total else "") for answer, n in found["answers"].items()]
    unanswered = f"; {found['unanswered']:,} without an answer" if found["unanswered"] else ""
    return f"{role:8} {total:>7,} {unit}s: {', '.join(answers)}{unanswered}"


app.command()(label)


@app.command()
def rate(
    context: typer.Context,
    name: RubricName,
    run: RunName,
    judge: JudgedBy = None,
    reading: ReadingName = None,
    answer: Answer = None,
    as_json: Json = False,
) -> None:
    """Show how often a run's texts have an answer, by the judge, and corrected by people's labels."""
    from core.scoring import rubric_words
    from core.scoring.rubric_rates import rubric_rates

    wanted = answer or rubrics.find(context.obj, name).answers[0]
    texts, (made_by, judge_name) = _load_texts(context.obj, name, run, (judge, reading), wanted)
    found = rubric_rates(texts, wanted)
    shape, lines = rubric_words.rates_shape(found), rubric_words.rate_lines(found, judge_name)
    show({"rubric": name, "run": run, "judge": made_by, **shape}, as_json, "\n".join(lines))


@app.command()
def worth(
    context: typer.Context,
    names: Annotated[
        str,
        typer.Argument(metavar="NAME[,NAME2…]", help="Rubrics that are tested together.", autocompletion=names.complete_rubrics),
    ],
    run: RunName,
    judge: JudgedBy = None,
    reading: ReadingName = None,
    answer: Answer = None,
    as_json: Json = False,
) -> None:
    """Compare a run's rows with an answer and those without: hits, and contributions to DE and DIR."""
    from core.actions import readings
    from core.fields.option import split_names
    from core.scoring import rubric_words, run_scores
    from core.scoring.rubric_worth import load_outcomes, rubric_worth

    with context.obj.store.read() as db:
        rows = run_scores.load_scored_rows(db, run)
        outcomes = load_outcomes(db, rows)
    tried = [rubrics.find(context.obj, each) for each in split_names(names)]
    answers = [(rubric, readings.answers(context.obj, rubric, rows.run, _word_of(judge), reading)[0]) for rubric in tried]
    found = rubric_worth(rows, outcomes, answers, answer)
    lines = [line for each in found for line in [*rubric_words.worth_sentences(each), ""]]
    show({**rubric_words.worth_shape(found), "run": run, "scored": rows.scored}, as_json, "\n".join(lines).rstrip())


def _load_texts(
    workspace: Workspace, name: str, run: str, judged_by: tuple[Judge | None, str | None], answer: str
) -> tuple[RateTexts, tuple[str, str]]:
    """Return a run's texts with readings and labels, and what made the readings: "rule" or a run's id, and in words.

    judged_by: the judge, and the name of its reading.
    """
    from core.actions import readings
    from core.scoring.rubric_rates import load_rate_texts
    from core.store import runs

    rubric, (judge, reading) = rubrics.find(workspace, name), judged_by
    with workspace.store.read() as db:
        found = runs.find(db, run)
    answers, made_by = readings.answers(workspace, rubric, found, _word_of(judge), reading)
    with workspace.store.read() as db:
        judge_name = made_by if made_by == readings.RULE else f"{runs.find(db, made_by).name} ({made_by})"
        return load_rate_texts(db, rubric, found.id, answers, answer), (made_by, judge_name)


def _word_of(judge: Judge | None) -> Literal["rule", "model"] | None:
    if judge is None:
        return None
    return "rule" if judge is Judge.RULE else "model"
