"""The commands of the ledger: list, add, result, import. Nothing changes or deletes an entry."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from core.base.errors import InputError
from core.base.fields.record import make
from core.base.fields.setting import split_names
from core.base.file_io import read_file
from core.base.result import plain
from core.cli import names
from core.cli.base import result_lines, show, show_result
from core.cli.settings import takes
from core.features.experiments import ledger
from core.features.experiments.decision import DecisionRule
from core.features.experiments.ledger_result import LedgerResult
from core.features.experiments.ledger_table import Entry
from core.runs.workspace import Workspace

app = typer.Typer()
MAX_BYTES = 10_000_000  # of a file of hypotheses

Name = Annotated[
    str,
    typer.Argument(
        help="The hypothesis's name.",
        autocompletion=names.complete(
            names.stored("core.features.experiments.ledger_table:list_all")
        ),
    ),
]


@app.command("list")
def list_(context: typer.Context) -> None:
    """List the hypotheses with verdict, p, and p corrected by Holm and by Benjamini and
    Hochberg."""
    show_result(ledger.list_ledger(context.obj))


@app.command()
@takes(DecisionRule, required=("smallest_effect",))
def add(
    context: typer.Context,
    name: Name,
    hypothesis: Annotated[str, typer.Option(help="What is claimed.")],
    prediction: Annotated[str, typer.Option(help="The prediction if it is true.")],
    pair: Annotated[
        str,
        typer.Option(
            "--runs",
            metavar="A,B",
            help=(
                "The baseline run, by name or id, and the run that should beat it, also one to"
                " come."
            ),
            autocompletion=names.complete_runs,
        ),
    ],
    chosen: dict[str, Any],
) -> None:
    """Register a hypothesis with the rule that decides it, before its result is seen."""
    rule, runs = make(DecisionRule, chosen), split_names(pair)
    if len(runs) != 2:
        raise InputError(f"ledger: got {pair!r}, expected two runs as A,B")
    claim = ledger.claim(name, hypothesis, prediction)
    _show_entry(context.obj, ledger.register(context.obj, claim, rule, (runs[0], runs[1])))


@app.command()
def result(
    context: typer.Context,
    name: Name,
    dataset: Annotated[
        str,
        typer.Option(
            help="If several have a hypothesis of the name.", autocompletion=names.complete_dataset
        ),
    ] = "",
) -> None:
    """Record the result of a registered hypothesis, computed from its runs; it is never typed
    in."""
    _show_entry(context.obj, ledger.record(context.obj, name, dataset))


@app.command("import")
def import_(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help="A CSV file of hypotheses with their results.")
    ] = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published", help="The published ladder of the challenge, instead of a file."
        ),
    ] = False,
) -> None:
    """Import hypotheses that others published; every entry is marked "published elsewhere"."""
    if (file is None) != published:
        raise InputError("ledger import: expected either a file or --published")
    if file is None:
        added = ledger.import_published_ladder(context.obj)
    else:
        added = ledger.import_file(context.obj, read_file(file, MAX_BYTES), file.name)
    lines = _lines_of(context.obj, added)
    text = "\n".join([f"{len(added)} entries imported", *result_lines(lines)])
    show({"imported": len(added), "hypotheses": plain(lines.hypotheses)}, text)


def _lines_of(workspace: Workspace, entries: Sequence[Entry]) -> LedgerResult:
    """Return the lines of the ledger about the hypotheses of these entries."""
    about = {entry.about for entry in entries}
    lines = ledger.list_ledger(workspace).hypotheses
    return LedgerResult(tuple(line for line in lines if line.entry.about in about))


def _show_entry(workspace: Workspace, entry: Entry) -> None:
    lines = _lines_of(workspace, [entry])
    show(plain(lines.hypotheses[-1]), "\n".join(result_lines(lines)))
