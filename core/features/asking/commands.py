"""Command that asks about one pair: ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.base.fields.record import make
from core.base.result import plain
from core.base.texts import number_text, printable
from core.cli.base import say, show, working
from core.cli.settings import takes
from core.features.asking.question import SCRIPTED, Question
from core.methods.base import method_named

if TYPE_CHECKING:
    from core.features.asking.actions import Answer

app = typer.Typer()


@app.command()
@takes(Question)
def ask(
    context: typer.Context,
    pert: Annotated[str, typer.Argument(metavar="PERT", help="The perturbed gene.")],
    gene: Annotated[
        str,
        typer.Argument(
            metavar="GENE", help="The target gene. Neither gene has to be in the dataset."
        ),
    ],
    chosen: dict[str, Any],
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="An option of the method."),
    ] = None,
) -> None:
    """Ask about one pair and print the argument; the page Ask shows it as it is written.

    It is saved as a run of one row, and resumes after an interruption.
    """
    from core.features.asking import actions as asking
    from core.runs import launch, run_control

    options = launch.read_options(method_named(chosen["method"]), values or ())
    question = make(Question, chosen, pert=pert, gene=gene, options=options)
    with working(f"asking about {pert} and {gene}"):
        asked = asking.ask(context.obj, question, begin=run_control.work_on)
    if not asked.is_new:
        say(f"run {asked.run.name} ({asked.run.id}) asked this before; --again asks again")
    if asked.run.status == "interrupted":
        raise KeyboardInterrupt  # its worker took the signal for itself
    answer = asking.answer_of(context.obj, asked.run.id, asked.pair.pair_id)
    numbers, run = answer.numbers, answer.run
    names = ("p_de", "p_up_given_de", "prediction_up", "prediction_down", "tokens", "flags")
    show(
        {
            **{name: plain(numbers[name]) for name in ("pert", "gene", *names)},
            **{name: getattr(run, name) for name in ("name", "method", "model")},
            "row": numbers["pair_id"],
            "run": run.id,
            "simulated": run.model == SCRIPTED,
            "trace": plain(answer.events),
            "evidence": plain(answer.dossier),
        },
        "\n\n".join([*_argument(answer), _sentence(answer)]),
    )


def _argument(answer: Answer) -> Iterator[str]:
    """Yield which tools answered, and each text of the argument below who wrote it."""
    if answer.dossier:
        tools = (
            f"{item['tool'].replace('_', ' ')}, {item['key']}: {item['status']}"
            for item in answer.dossier
        )
        yield "\n".join(map(printable, tools))
    for event in answer.events:
        # without terminal control characters
        lines = "\n".join(map(printable, event["content"].split("\n")))
        yield f"{printable(event['role'])}, {event['kind']}:\n{lines}"


def _sentence(answer: Answer) -> str:
    p_de, p_up = (number_text(answer.numbers[name], ".2f") for name in ("p_de", "p_up_given_de"))
    simulated = ", simulated: no model argued" if answer.run.model == SCRIPTED else ""
    pair = printable(f"{answer.numbers['pert']} → {answer.numbers['gene']}")
    return f"{pair}: P(DE) {p_de}, P(up | DE) {p_up} (run {answer.run.name}{simulated})"
