"""The command line: every action and every number, with the same effect as the pages.

`--json` prints one JSON object on standard output and nothing else. Exit 0: done; 1: the input or the state is wrong
(one line on standard error); 2: wrong usage; 130: interrupted.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from core.actions import demo as demo_actions
from core.actions import imports, public
from core.actions import runs as run_actions
from core.actions.desk import Desk, open_desk
from core.audit import debate
from core.config import load_settings
from core.errors import DeskError, InputError, MissingPackage
from core.report import rows
from core.store import datasets, predictions, runs, traces
from core.store.runs import Run

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help="PerturbDesk.")
audit_app = typer.Typer(no_args_is_help=True, help="Look for what a score does not show.")
app.add_typer(audit_app, name="audit")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run's name or id.")]


@app.callback()
def workspace(
    context: typer.Context,
    folder: Annotated[Path | None, typer.Option("--workspace", help="The folder that holds data/ and cache/.")] = None,
) -> None:
    """The workbench for debates, neighbours and fusions over (perturbation, gene) pairs."""
    context.obj = open_desk(load_settings(folder))


def say(text: str) -> None:
    """Progress and remarks: never on standard output."""
    print(text, file=sys.stderr)


def show(result: Mapping[str, Any], as_json: bool, text: str) -> None:
    """A command's result: one JSON object (NaN as null), or text for people."""
    print(json.dumps(_plain(result), ensure_ascii=False) if as_json else text)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@app.command()
def demo(context: typer.Context, as_json: Json = False) -> None:
    """Make the simulated workspace."""
    made = demo_actions.make_demo(context.obj)
    names = [run.name for run in made]
    show({"dataset": datasets.DEMO, "runs": names}, as_json, f"dataset {datasets.DEMO}: {', '.join(names)}")


@app.command("import")
def import_(
    context: typer.Context,
    paths: Annotated[list[Path], typer.Argument(help="Files or folders; recognised by content.")],
    name: Annotated[str | None, typer.Option(help="Name of the run, or of the dataset for files of pairs.")] = None,
    dataset: Annotated[str | None, typer.Option(help="The dataset to attach to.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="One bad row refuses its whole file.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="An existing run of that name goes.")] = False,
    as_json: Json = False,
) -> None:
    """Import challenge files, submissions and PerturbQA."""
    options = imports.Options(name, dataset, strict, replace)
    _report_imports(imports.import_paths(context.obj, paths, options), as_json)


@app.command()
def fetch(
    context: typer.Context,
    group: Annotated[str, typer.Argument(metavar="challenge|published|perturbqa")],
    as_json: Json = False,
) -> None:
    """Download public files, pinned and checked, and import them."""
    _report_imports(public.fetch_and_import(context.obj, group, _say_progress), as_json)


def _say_progress(name: str, done: int, total: int) -> None:
    if done in (0, total):
        say(f"{name}: {done:,} of {total:,} bytes")


def _report_imports(outcomes: list[imports.Imported], as_json: bool) -> None:
    for outcome in outcomes:
        if outcome.message:
            say(outcome.message if outcome.path in outcome.message else f"{outcome.path}: {outcome.message}")
        for row in outcome.rejected:
            say(f"{row.file}, line {row.line}: {row.reason}: {row.detail}")
    records = [
        {"path": o.path, "kind": o.kind, "name": o.name, "rows": o.rows, "rejected": len(o.rejected), "new": o.new}
        for o in outcomes
    ]
    lines = [
        f"{r['kind']:18} {r['name'] or '–':32} {r['rows']:>7,} rows  {r['rejected']:>5,} rejected  {r['path']}" for r in records
    ]
    show({"imported": records}, as_json, "\n".join(lines))
    if any(outcome.kind == "failed" for outcome in outcomes):
        raise typer.Exit(1)


@app.command()
def undo(
    context: typer.Context,
    what: Annotated[str, typer.Argument(metavar="IMPORT", help="An import's id, file name or run.")],
    with_runs: Annotated[bool, typer.Option("--with-runs", help="Also the runs that stand on its rows.")] = False,
    as_json: Json = False,
) -> None:
    """Take back an import."""
    done = imports.undo(context.obj, what, with_runs=with_runs)
    show({"undone": done.file, "kind": done.kind, "rows": done.rows}, as_json, f"{done.file}: undone, {done.rows:,} rows")


def _record(run: Run, dataset: str) -> dict[str, Any]:
    keys = ("name", "id", "method", "status", "total", "done", "failed", "fallbacks", "tokens", "public_score")
    return {**{key: getattr(run, key) for key in keys}, "dataset": dataset, "note": run.note}


def _records(desk: Desk, chosen: list[Run] | None = None) -> list[dict[str, Any]]:
    with desk.store.read() as db:
        names = {d.id: d.name for d in datasets.all_of_them(db)}
        return [_record(run, names[run.dataset]) for run in (runs.all_of_them(db) if chosen is None else chosen)]


@app.command("runs")
def runs_(context: typer.Context, as_json: Json = False) -> None:
    """List the runs."""
    records = _records(context.obj)
    _show_runs({"runs": records}, records, as_json)


def _show_runs(result: Mapping[str, Any], records: list[dict[str, Any]], as_json: bool) -> None:
    lines = [
        f"{r['id']}  {r['name']:32} {r['method']:12} {r['dataset']:10} {r['status']:8} {r['done']:>6,}/{r['total']:,}"
        f"  fallbacks {r['fallbacks']:,}  public {r['public_score'] if r['public_score'] is not None else '–'}"
        for r in records
    ]
    show(result, as_json, "\n".join(lines) or "no runs here; try: python -m core demo")


def _show_run(desk: Desk, run: Run, as_json: bool) -> None:
    [record] = _records(desk, [run])
    _show_runs(record, [record], as_json)


@app.command("set")
def set_(
    context: typer.Context,
    run: RunName,
    values: Annotated[list[str], typer.Argument(metavar="KEY=VALUE…", help="public_score=NUMBER, note=TEXT")],
    as_json: Json = False,
) -> None:
    """Record a public score or a note on a run."""
    pairs = dict(value.partition("=")[::2] for value in values)
    _show_run(context.obj, run_actions.set_values(context.obj, run, pairs), as_json)


@app.command()
def rename(context: typer.Context, run: RunName, name: str, as_json: Json = False) -> None:
    """Give a run another name."""
    _show_run(context.obj, run_actions.rename(context.obj, run, name), as_json)


@app.command()
def note(
    context: typer.Context,
    run: RunName,
    text: str,
    row: Annotated[str | None, typer.Option(help="The row's id; without it the note is on the run.")] = None,
    as_json: Json = False,
) -> None:
    """Remark on a run or one of its rows."""
    key = run_actions.add_note(context.obj, run, row, text)
    show({"note": key}, as_json, f"note {key}")


@app.command()
def delete(context: typer.Context, run: RunName, as_json: Json = False) -> None:
    """Delete a run with its traces and notes."""
    [record] = _records(context.obj, [run_actions.delete(context.obj, run)])
    show(record, as_json, f"{record['name']}: deleted, {record['done']:,} rows")


@audit_app.command("debate")
def audit_debate(context: typer.Context, run: RunName, as_json: Json = False) -> None:
    """Was it a debate? Collapsed roles, option answers, fallbacks."""
    with context.obj.store.read() as db:
        found = runs.find(db, run)
        result = debate.audit(
            traces.briefs(db, found.id), predictions.flag_counts(db, found.id), predictions.p_de_of(db, found.id)
        )
    if result.roles.empty:
        raise InputError(f"audit debate {run}: method {found.method}, its traces hold no briefs; expected a debate")
    counts = result.as_json()
    text = result.roles.to_string(index=False)
    text += f"\nfallbacks: DE {result.de_fallbacks}, DIR {result.dir_fallbacks}; distinct P(DE): {result.distinct_p_de}"
    show(counts, as_json, text)


@app.command()
def export(
    context: typer.Context,
    run: RunName,
    form: Annotated[rows.Format, typer.Option("--format")] = "csv",
    with_traces: Annotated[bool, typer.Option("--traces", help="Trace events instead of predictions.")] = False,
    out: Annotated[Path | None, typer.Option(help="The file to write; without it, standard output.")] = None,
    as_json: Json = False,
) -> None:
    """Write a run's predictions or traces."""
    if out is None and (form == "parquet" or as_json):
        raise InputError(f"export {run}: --format {form}{' --json' if as_json else ''} needs --out FILE")
    with context.obj.store.read() as db:
        content, n = rows.export(db, runs.find(db, run).id, form, with_traces=with_traces)
    if out is None:
        sys.stdout.buffer.write(content)
        return
    out.write_bytes(content)
    show({"path": str(out), "rows": n}, as_json, f"{out}: {n:,} rows")


@app.command()
def bench(name: Annotated[str, typer.Argument(metavar="store|pages|bootstrap")], as_json: Json = False) -> None:
    """Measure ourselves against a plain implementation or a floor, both in this run."""
    try:
        module = importlib.import_module(f"bench.{name}")
    except ModuleNotFoundError as error:
        if error.name == f"bench.{name}":
            raise InputError(f"bench {name}: no such benchmark; see the bench folder") from None
        raise MissingPackage(f"bench {name}: needs {error.name}; install requirements-dev.txt") from None
    result = module.run()
    show(result, as_json, "\n".join(f"{key:28} {value}" for key, value in result.items()))


def main() -> None:
    """Entry point: a foreseen error is one line and exit 1; usage (2) and interruption (130) are typer's."""
    try:
        app()
    except DeskError as error:
        say(f"error: {error}")
        sys.exit(1)
