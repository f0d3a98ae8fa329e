"""Commands about rubrics: rubric rate, rubric worth."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from core.cli.base import Json, RunName, show

if TYPE_CHECKING:
    from core.actions.workspace import Workspace
    from core.scoring.rubric_rates import RateTexts

app = typer.Typer(no_args_is_help=True)

RubricName = Annotated[str, typer.Argument(metavar="NAME", help="A rubric's name, as `rubric list` prints it.")]


class Judge(StrEnum):
    """What answers a rubric."""

    RULE = "rule"
    MODEL = "model"


# What the answers are worth: rubric rate, rubric worth.
JudgedBy = Annotated[
    Judge | None, typer.Option("--judge", help="By default the rule where the rubric has one, otherwise a model.")
]
ReadingName = Annotated[
    str | None,
    typer.Option("--reading", metavar="RUN", help="A model's reading by name or id; by default the newest that is done."),
]
Answer = Annotated[str | None, typer.Option(help="The answer that counts; by default the rubric's first.")]


@app.command()
def rate(
    context: typer.Context,
    name: RubricName,
    run: RunName,
    judge: JudgedBy = None,
    reading: ReadingName = None,
    other: Annotated[
        str | None, typer.Option("--other", metavar="RUN2", help="Another run, compared on the rows of both.")
    ] = None,
    answer: Answer = None,
    as_json: Json = False,
) -> None:
    """Show how often a run's texts have an answer: as the judge says, from people's labels alone, and corrected by them."""
    from core.actions import rubrics
    from core.scoring import rubric_words
    from core.scoring.rubric_rates import compare_rates, rubric_rates

    wanted = answer or rubrics.find(context.obj, name).answers[0]
    texts, made_by = _load_texts(context.obj, name, run, (judge, reading), wanted)
    found = rubric_rates(texts, wanted)
    shape, lines = rubric_words.rates_shape(found), rubric_words.rate_lines(found, made_by)
    if other is not None:
        others, _ = _load_texts(context.obj, name, other, (judge, None), wanted)
        changes = compare_rates(texts, others)
        shape |= {"other": other, "changes": rubric_words.changes_shape(changes)}
        lines += ["", *rubric_words.change_lines(changes, run, other)]
    show({"rubric": name, "run": run, "judge": made_by, **shape}, as_json, "\n".join(lines))


@app.command()
def worth(
    context: typer.Context,
    names: Annotated[str, typer.Argument(metavar="NAME[,NAME2…]", help="Rubrics that are tried together.")],
    run: RunName,
    judge: JudgedBy = None,
    reading: ReadingName = None,
    answer: Answer = None,
    as_json: Json = False,
) -> None:
    """Compare a run's rows where an answer is given with those where it is not: hits, and what they add to DE and DIR."""
    from core.actions import readings, rubrics
    from core.methods.base import split_names
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
) -> tuple[RateTexts, str]:
    """A run's texts with readings and labels, and what made the readings. judged_by: the judge, and the name of its reading."""
    from core.actions import readings, rubrics
    from core.scoring.rubric_rates import load_rate_texts
    from core.store import runs

    rubric, (judge, reading) = rubrics.find(workspace, name), judged_by
    with workspace.store.read() as db:
        found = runs.find(db, run)
    answers, made_by = readings.answers(workspace, rubric, found, _word_of(judge), reading)
    with workspace.store.read() as db:
        return load_rate_texts(db, rubric, found.id, answers, answer), made_by


def _word_of(judge: Judge | None) -> Literal["rule", "model"] | None:
    if judge is None:
        return None
    return "rule" if judge is Judge.RULE else "model"
