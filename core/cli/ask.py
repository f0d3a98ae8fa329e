"""Command that asks about one pair: ask."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from core.actions import ask as asking
from core.actions import launch, run_control
from core.actions.ask import SCRIPTED, Answer, Question
from core.cli import names
from core.cli.base import Json, say, show
from core.cli.names import DatasetName
from core.cli.settings import takes
from core.fields.record import make
from core.llm.call_settings import CallSettings
from core.methods.base import method_named
from core.texts import number_text, printable

app = typer.Typer()
_TITLES = {"de": "does it change", "dir": "up or down"}


@app.command()
@takes(CallSettings)
def ask(
    context: typer.Context,
    pert: Annotated[str, typer.Argument(metavar="PERT", help="The perturbed gene.")],
    gene: Annotated[str, typer.Argument(metavar="GENE", help="The target gene. Neither gene has to be in the dataset.")],
    chosen: dict[str, Any],
    method: Annotated[
        str,
        typer.Option(
            help="One that asks a model row by row, such as debate or prompt_only.", autocompletion=names.complete_method
        ),
    ] = "debate",
    endpoint: Annotated[
        str | None, typer.Option("--endpoint", help=f"A model server's address ending in /v1; {SCRIPTED}: a simulated one.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="By default the server's only model.")] = None,
    dataset: DatasetName = None,
    values: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="An option of the method.")] = None,
    seed: Annotated[int, typer.Option(help="Of the calls.")] = 0,
    again: Annotated[bool, typer.Option("--again", help="Ask again, even if it was asked before.")] = False,
    as_json: Json = False,
) -> None:
    """Ask about one pair and print the argument as it is written.

    It is saved as a run of one row, and resumes after an interruption.
    """
    options = launch.read_options(method_named(method), values or ())
    question = Question(pert, gene, method, dataset, endpoint, model, seed, options, again, make(CallSettings, chosen))

    printer = _ArgumentPrinter()

    def work_aloud(workspace: Any, run: str) -> None:
        end = asking.listen(asking.watch(workspace, run), printer.print_event)
        try:
            run_control.work_on(workspace, run)
        finally:
            end()

    asked = asking.ask(context.obj, question, begin=run_control.work_on if as_json else work_aloud)
    if not asked.is_new:
        say(f"run {asked.run.name} ({asked.run.id}) asked this before; --again asks again")
    if asked.run.status == "interrupted":
        raise KeyboardInterrupt  # its worker took the signal for itself
    answer = asking.answer_of(context.obj, asked.run.id, asked.pair.pair_id)
    if not printer.has_ended and not as_json:  # answered before, or before anybody could listen
        print("\n\n".join(f"{event['role']}, {event['kind']}:\n{_safe(event['content'])}" for event in answer.events))
    show(_shape(answer), as_json, _sentence(answer))


def _shape(answer: Answer) -> dict[str, Any]:
    numbers = answer.numbers
    names = ("stage", "role", "kind", "content", "tokens", "latency_ms", "meta")
    return {
        "pert": numbers["pert"],
        "gene": numbers["gene"],
        "row": numbers["pair_id"],
        "run": answer.run.id,
        "name": answer.run.name,
        "method": answer.run.method,
        "model": answer.run.model,
        "simulated": answer.run.model == SCRIPTED,
        **{name: numbers[name] for name in ("p_de", "p_up_given_de", "prediction_up", "prediction_down", "tokens")},
        "flags": list(numbers["flags"]),
        "trace": [{name: event[name] for name in names} for event in answer.events],
        "evidence": [{name: item[name] for name in ("tool", "key", "status", "source", "body")} for item in answer.dossier],
    }


def _sentence(answer: Answer) -> str:
    p_de, p_up = (number_text(answer.numbers[name], ".2f") for name in ("p_de", "p_up_given_de"))
    simulated = ", simulated: no model argued" if answer.run.model == SCRIPTED else ""
    pair = printable(f"{answer.numbers['pert']} → {answer.numbers['gene']}")
    return f"\n{pair}: P(DE) {p_de}, P(up | DE) {p_up} (run {answer.run.name}{simulated})"


def _safe(text: str) -> str:
    """Return text of a model, line by line, without terminal control characters."""
    return "\n".join(printable(line) for line in text.split("\n"))


@dataclass
class _ArgumentPrinter:
    """Prints what happens to a row as it happens. Of several answers that are written at a time the first one is printed word by
    word, and each of the others when those before it are over."""

    titles: dict[int, str] = field(default_factory=dict)
    waiting: dict[int, list[str]] = field(
        default_factory=dict
    )  # call → what is not printed yet, in the order in which they began
    attempts: dict[int, int] = field(default_factory=dict)
    over: set[int] = field(default_factory=set)
    printed: int | None = None
    has_ended: bool = False

    def print_event(self, event: Mapping[str, Any]) -> None:
        """Print new text."""
        match event:
            case {"kind": kind, "call": call} if kind != "asked" and call not in self.waiting:
                return  # a full disk lost that it was asked
            case {"kind": "tool", "item": item}:
                print(f"{printable(item['tool'].replace('_', ' '))}, {printable(item['key'])}: {item['status']}", flush=True)
            case {"kind": "asked", "call": call, "stage": stage, "role": role}:
                self.titles[call] = f"{role} ({_TITLES.get(stage, stage)})"
                self.waiting[call] = []
            case {"kind": "words", "call": call, "content": words, "attempt": attempt}:
                if attempt > self.attempts.setdefault(call, attempt):
                    self.waiting[call].append("\n[the server broke off; asking again]\n")
                self.attempts[call] = attempt
                if event.get("is_anew"):
                    self.waiting[call] = ["\n[the text so far was thinking]\n"] if self.printed == call else []
                self.waiting[call].append(words)
            case {"kind": "answered", "call": call, "content": content}:
                self.over.add(call)
                if call not in self.attempts:  # no words came: it is the cache's, or the server gives no stream
                    self.waiting[call] = [content]
            case {"kind": "ended"}:
                self.has_ended = True
            case {"kind": "failed", "call": call, "why": why}:
                self.over.add(call)
                self.waiting[call].append(f"\n[no answer: {why}]")
        self._print_on()

    def _print_on(self) -> None:
        while self.waiting:
            call = next(iter(self.waiting))
            words, self.waiting[call] = "".join(self.waiting[call]), []
            if words and self.printed != call:
                print(f"\n{printable(self.titles[call])}:")
                self.printed = call
            sys.stdout.write(_safe(words))
            if call in self.over:
                del self.waiting[call]
                sys.stdout.write("\n")
                continue
            sys.stdout.flush()
            return
