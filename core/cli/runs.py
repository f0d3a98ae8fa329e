"""Commands about runs: runs, set, rename, note, notes, delete-note, delete."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from core.actions import jobs
from core.actions import runs as run_actions
from core.actions.workspace import Workspace
from core.cli import names
from core.cli.base import Json, show
from core.cli.names import DatasetName, RunName
from core.store import datasets, runs
from core.store import notes as store_notes
from core.store.runs import Run
from core.types import LIVE_STATES, Flag

app = typer.Typer()


def _record(run: Run, dataset: str, fewer_seeds: int, finished: int) -> dict[str, Any]:
    keys = ("name", "id", "method", "status", "total", "done", "failed", "fallbacks", "tokens", "public_score", "note")
    more = {"dataset": dataset, "fewer_seeds": fewer_seeds, "finished": finished}
    return {key: getattr(run, key) for key in keys} | more


def list_records(workspace: Workspace, chosen: list[Run] | None = None) -> list[dict[str, Any]]:
    """Return the chosen runs, or all, as `runs --json` prints them.

    done, failed: rows in the store. finished: rows, failed ones included, that the run's workers have finished.
    """
    with workspace.store.read() as db:
        of_dataset = {d.id: d.name for d in datasets.list_all(db)}
        fewer = runs.rows_with_flag(db, Flag.FEWER_SEEDS)
        recorded = runs.list_all(db) if chosen is None else chosen
    present = jobs.with_present_states(workspace, recorded)
    return [_record(run, of_dataset[run.dataset], fewer.get(run.id, 0), jobs.count_finished(workspace, run)) for run in present]


def progress_line(record: Mapping[str, Any]) -> str:
    """Return a run's progress, and how to resume it if it ended early. record: from `list_records`."""
    line = f"{record['name']} ({record['id']}): {record['status']}, {record['done']:,} rows done"
    live = record["status"] in (*LIVE_STATES, "done")
    return line if live else f"{line}; `perturbdesk resume {shlex.quote(record['name'])}` continues it"


@app.command("runs")
def runs_(context: typer.Context, as_json: Json = False) -> None:
    """List the runs."""
    records = list_records(context.obj)
    _show_runs({"runs": records}, records, as_json)


def _show_runs(result: Mapping[str, Any], records: list[dict[str, Any]], as_json: bool) -> None:
    lags = [r["finished"] - r["done"] - r["failed"] for r in records]
    lines = [
        f"{r['id']}  {r['name']:32} {r['method']:12} {r['dataset']:10} {r['status']:8} {r['done']:>6,}/{r['total']:,}"
        f"  no answer {r['fallbacks']:,}  public {r['public_score'] if r['public_score'] is not None else '–'}"
        + (f"  fewer seeds {r['fewer_seeds']:,}" if r["fewer_seeds"] else "")
        + (f"  {lag:,} finished rows are not in the store yet" if lag else "")
        for r, lag in zip(records, lags, strict=True)
    ]
    show(result, as_json, "\n".join(lines) or "no runs yet; try: perturbdesk demo")


def _show_run(workspace: Workspace, run: Run, as_json: bool) -> None:
    [record] = list_records(workspace, [run])
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
def rename(
    context: typer.Context, run: RunName, name: Annotated[str, typer.Argument(help="The new name.")], as_json: Json = False
) -> None:
    """Give a run another name."""
    _show_run(context.obj, run_actions.rename(context.obj, run, name), as_json)


@app.command()
def note(
    context: typer.Context,
    run: RunName,
    text: Annotated[str, typer.Argument(help="What to note.")],
    row: Annotated[str | None, typer.Option(help="A row's id; without it the note is about the whole run.")] = None,
    as_json: Json = False,
) -> None:
    """Add a note to a run, or to one of its rows."""
    key = run_actions.add_note(context.obj, run, row, text)
    show({"note": key}, as_json, f"note {key}")


@app.command()
def notes(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(help="A run's name or id; without it, all runs of the dataset.", autocompletion=names.complete_run),
    ] = None,
    dataset: DatasetName = None,
    author: Annotated[str | None, typer.Option(help="Only notes that this author wrote.")] = None,
    as_json: Json = False,
) -> None:
    """List notes on runs, their rows and their figures, newest first."""
    from core.actions.component_loader import default_dataset  # with numpy, which `runs` does without

    with context.obj.store.read() as db:
        found = store_notes.of_dataset(db, runs.find(db, run).dataset if run else default_dataset(context.obj, dataset).id)
        if run:
            found = found[found["run_id"] == runs.find(db, run).id]
    if author is not None:
        found = found[found["author"] == author]
    records = found.assign(written_at=found["written_at"].dt.strftime("%Y-%m-%dT%H:%M:%SZ")).astype(object)
    listed = records.where(records.notna(), None).to_dict("records")
    lines = [
        f"{n['id']}  {n['written_at']}  {n['author']}  {n['run']}  {n['pair_id'] or n['figure'] or ''}\n  {n['text']}"
        for n in listed
    ]
    show({"notes": listed}, as_json, "\n".join(lines) or "no notes")


@app.command("delete-note")
def delete_note(context: typer.Context, note: Annotated[str, typer.Argument(help="A note's id.")], as_json: Json = False) -> None:
    """Delete a note that you wrote."""
    run_actions.delete_note(context.obj, note)
    show({"deleted": note}, as_json, f"note {note}: deleted")


@app.command()
def delete(context: typer.Context, run: RunName, as_json: Json = False) -> None:
    """Delete a run with its traces and notes."""
    [record] = list_records(context.obj, [run_actions.delete(context.obj, run)])
    show(record, as_json, f"{record['name']}: deleted, {record['done']:,} rows")
