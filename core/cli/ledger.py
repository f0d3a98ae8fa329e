"""Commands behind `ledger`: list, add, result, import, verify. Nothing changes or deletes an entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from core.actions import ledger, rubric_ledger
from core.actions.workspace import Workspace
from core.cli import names
from core.cli.base import Json, say, show
from core.cli.settings import takes
from core.errors import InputError
from core.experiments.ledger import LedgerLine
from core.experiments.ledger_words import ledger_table, line_record, summary_sentences
from core.experiments.rubric_hypothesis import RuleRequest
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
Note = Annotated[str, typer.Option(help="A remark.")]


@app.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """List the hypotheses with verdict, p, and p corrected by Holm and by Benjamini and Hochberg."""
    lines = _lines(context.obj)
    text = "\n".join([*_table(lines), *([""] if lines else []), *summary_sentences(lines)])
    result = {"hypotheses": [line_record(line) for line in lines], "sentences": summary_sentences(lines)}
    show(result, as_json, text or "no hypotheses yet; try: perturbdesk ledger add NAME, or perturbdesk ledger import --published")


@app.command()
@takes(RuleRequest)
def add(
    context: typer.Context,
    name: Name,
    hypothesis: Annotated[str, typer.Option(help="What is claimed.")],
    prediction: Annotated[str, typer.Option(help="The prediction if it is true.")],
    chosen: dict[str, Any],
    pair: Pair = "",
    rubric: Annotated[
        str,
        typer.Option(
            help="A rubric instead of two runs: rows of --run with the answer yes against the others.",
            autocompletion=names.complete_rubric,
        ),
    ] = "",
    run: Annotated[
        str, typer.Option(help="The run whose texts the rubric asks about, by name or id.", autocompletion=names.complete_run)
    ] = "",
    dataset: Annotated[str, typer.Option(help="By default that of the runs.", autocompletion=names.complete_dataset)] = "",
    note: Note = "",
    as_json: Json = False,
) -> None:
    """Register a hypothesis with the rule that decides it, before its result is seen."""
    if bool(rubric) != bool(run) or (rubric and pair):
        raise InputError("ledger add: expected --rubric and --run together, without --runs")
    asked = make(RuleRequest, chosen)
    if rubric:
        about = rubric_ledger.RubricRegistration(name, hypothesis, prediction, rubric, run, asked.about_rubric(), dataset, note)
        _show_entry(context.obj, rubric_ledger.register(context.obj, about), as_json)
        return
    a, b = _split_pair(pair) if pair else ("", "")
    wanted = ledger.Registration(name, hypothesis, prediction, asked.about_runs(), a, b, dataset, note)
    _show_entry(context.obj, ledger.register(context.obj, wanted), as_json)


@app.command()
def result(
    context: typer.Context,
    name: Name,
    pair: Pair = "",
    public_noise: Annotated[
        str,
        typer.Option(
            metavar="A,B",
            help="Compare public scores; two similar labelled runs give their noise.",
            autocompletion=names.complete_runs,
        ),
    ] = "",
    benchmark: Annotated[
        str, typer.Option(help="The benchmark whose arms the runs are.", autocompletion=names.complete_benchmark)
    ] = "",
    reading: Annotated[
        str,
        typer.Option(
            help="About a rubric: the reading whose answers count, by default its rule or the newest.",
            autocompletion=names.complete_run,
        ),
    ] = "",
    note: Note = "",
    as_json: Json = False,
) -> None:
    """Record the result of a registered hypothesis, computed from runs; it is never typed in."""
    with context.obj.store.read() as db:
        is_about_rubric = ledger.find_registration(db, name).rubric is not None
    if is_about_rubric:
        if pair or public_noise or benchmark:
            raise InputError(f"{name}: registered about a rubric, expected no --runs, --public-noise or --benchmark")
        _show_entry(context.obj, rubric_ledger.record_result(context.obj, name, reading, note), as_json)
        return
    if reading:
        raise InputError(f"{name}: registered about two runs, expected no --reading")
    a, b = _split_pair(pair) if pair else ("", "")
    wanted = ledger.Recording(a, b, _split_pair(public_noise) if public_noise else None, benchmark, note)
    _show_entry(context.obj, ledger.record_result(context.obj, name, wanted), as_json)


@app.command("import")
def import_(
    context: typer.Context,
    file: Annotated[Path | None, typer.Argument(help="A CSV or TOML file of hypotheses with their results.")] = None,
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


@app.command()
def verify(
    context: typer.Context,
    head: Annotated[
        str,
        typer.Option(metavar="HASH", help="An earlier head, which must be an entry of the ledger or of the audit log."),
    ] = "",
    as_json: Json = False,
) -> None:
    """Check that the ledger and the audit log are intact. Exits 1 if not, and shows the first bad entry.

    The printed heads seal all entries. Store them elsewhere: only a stored head reveals that both were rewritten.
    """
    findings = ledger.verify(context.obj)
    noted = ledger.find_head(context.obj, head) if head else None
    result: dict[str, Any] = {"intact": all(each.is_intact for each in findings)}
    result |= {each.chain.replace(" ", "_"): each.as_record() for each in findings}
    lines = [each.sentence for each in findings]
    if head:
        result["noted"] = {"hash": head, "chain": noted[0] if noted else None, "entry": noted[1] if noted else None}
        lines.append(f"Head {head}: {f'entry {noted[1]:,} of the {noted[0]}' if noted else 'no entry has it'}.")
    show(result, as_json, "\n".join(lines))
    problems = [each.sentence for each in findings if not each.is_intact]
    if head and noted is None:
        problems.append(f"Head {head}: no entry has it, so entries are missing or all were rewritten.")
    if problems:
        say(f"error: {' '.join(problems)}")
        raise typer.Exit(1)


def _split_pair(text: str) -> tuple[str, str]:
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
    record: Mapping[str, Any] = line_record(line)
    show(record, as_json, "\n".join(_table([line])))


def _table(lines: Sequence[LedgerLine]) -> list[str]:
    return table_lines([{title: row[title] for title in _SHOWN} for row in ledger_table(lines)])
