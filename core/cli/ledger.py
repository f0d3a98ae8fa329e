"""Commands behind `ledger`: list, add, result, import. Nothing changes or deletes an entry."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from core.actions import ledger
from core.actions.workspace import Workspace
from core.cli import names
from core.cli.base import Json, say, show
from core.cli.settings import takes
from core.errors import InputError
from core.experiments.decision import DecisionRule
from core.experiments.ledger import LedgerLine
from core.experiments.ledger_words import ledger_table, line_record, summary_sentences
from core.fields.option import split_names
from core.fields.record import make
from core.file_io import read_file
from core.store.hypotheses import Entry
from core.texts import table_lines

app = typer.Typer()
MOST_BYTES = 10_000_000  # of a file of hypotheses
_SHOWN = ("hypothesis", "verdict", "difference", "detectable", "p", "p (Holm)", "p (BH)", "source")

Name = Annotated[str, typer.Argument(help="The hypothesis's name.", autocompletion=names.complete_hypothesis)]
Pair = Annotated[
    str,
    typer.Option(
        "--runs",
        metavar="A,B",
        help="The baseline run and the run that should beat it, by name or id.",
        autocompletion=names.complete_runs,
    ),
]


@app.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """List the hypotheses with verdict, p, and p corrected by Holm and by Benjamini and Hochberg."""
    lines = _lines(context.obj)
    text = "\n".join([*_table(lines), *([""] if lines else []), *summary_sentences(lines)])
    result = {"hypotheses": [line_record(line) for line in lines], "sentences": summary_sentences(lines)}
    show(result, as_json, text or "no hypotheses yet; try: perturbdesk ledger add NAME, or perturbdesk ledger import --published")


@app.command()
@takes(DecisionRule)
def add(
    context: typer.Context,
    name: Name,
    hypothesis: Annotated[str, typer.Option(help="What is claimed.")],
    prediction: Annotated[str, typer.Option(help="The prediction if it is true.")],
    chosen: dict[str, Any],
    pair: Pair = "",
    dataset: Annotated[str, typer.Option(help="By default that of the runs.", autocompletion=names.complete_dataset)] = "",
    as_json: Json = False,
) -> None:
    """Register a hypothesis with the rule that decides it, before its result is seen."""
    rule = make(DecisionRule, chosen)
    wanted = ledger.Registration(name, hypothesis, prediction, rule, *_split_pair(pair), dataset)
    _show_entry(context.obj, ledger.register(context.obj, wanted), as_json)


@app.command()
def result(context: typer.Context, name: Name, pair: Pair = "", as_json: Json = False) -> None:
    """Record the result of a registered hypothesis, computed from runs; it is never typed in."""
    _show_entry(context.obj, ledger.record_result(context.obj, name, *_split_pair(pair)), as_json)


@app.command("import")
def import_(
    context: typer.Context,
    file: Annotated[Path | None, typer.Argument(help="A CSV file of hypotheses with their results.")] = None,
    published: Annotated[
        bool, typer.Option("--published", help="The published ladder of the challenge, instead of a file.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Import hypotheses that others published; every entry is marked "published elsewhere"."""
    if (file is None) != published:
        raise InputError("ledger import: expected either a file or --published")
    if file is None:
        added = ledger.import_published_ladder(context.obj)
    else:
        added = ledger.import_file(context.obj, read_file(file, MOST_BYTES), file.name)
    if not added:
        say("nothing new: every line is in the ledger already")
    ids = {entry.id for entry in added}
    lines = [line for line in _lines(context.obj) if line.entry.id in ids]
    shown = {"imported": len(added), "hypotheses": [line_record(line) for line in lines]}
    show(shown, as_json, "\n".join([f"{len(added)} entries imported", *_table(lines)]))


def _split_pair(text: str) -> tuple[str, str]:
    """Return the baseline and the tested run; two empty texts if none is given."""
    if not text:
        return "", ""
    names = split_names(text)
    if len(names) != 2:
        raise InputError(f"ledger: got {text!r}, expected two runs as A,B")
    return names[0], names[1]


def _lines(workspace: Workspace) -> list[LedgerLine]:
    return ledger.list_lines(workspace)


def _show_entry(workspace: Workspace, entry: Entry, as_json: bool) -> None:
    line = next((one for one in _lines(workspace) if one.entry.id == entry.id), None)
    if line is None:  # a registration whose hypothesis has a result, or a second one
        line = LedgerLine(entry, entry, None, 0)
    show(line_record(line), as_json, "\n".join(_table([line])))


def _table(lines: Sequence[LedgerLine]) -> list[str]:
    return table_lines([{title: row[title] for title in _SHOWN} for row in ledger_table(lines)])
