"""The command `runs`, which lists them, and behind it: set, rename, delete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer

from core.base.types import Flag
from core.cli.base import show
from core.cli.names import RunName
from core.runs import actions as run_actions
from core.runs import run_control
from core.runs.jobs import overview
from core.runs.workspace import Workspace
from core.store import datasets, runs
from core.store.runs import Run

runs_app = typer.Typer(invoke_without_command=True)


def _run_record(run: Run, dataset: str, fewer_seeds: int) -> dict[str, Any]:
    keys = (
        "name",
        "id",
        "method",
        "status",
        "total",
        "done",
        "failed",
        "fallbacks",
        "tokens",
        "public_score",
        "note",
    )
    return {key: getattr(run, key) for key in keys} | {
        "dataset": dataset,
        "fewer_seeds": fewer_seeds,
    }


def list_records(workspace: Workspace, chosen: list[Run] | None = None) -> list[dict[str, Any]]:
    """Return the chosen runs, or all, as `runs --json` prints them. done, failed: rows in the
    store."""
    with workspace.store.read() as db:
        of_dataset = {d.id: d.name for d in datasets.list_all(db)}
        fewer = runs.rows_with_flag(db, Flag.FEWER_SEEDS)
        recorded = runs.list_all(db) if chosen is None else chosen
    present = overview.with_present_states(workspace, recorded)
    return [_run_record(run, of_dataset[run.dataset], fewer.get(run.id, 0)) for run in present]


@runs_app.callback()
def list_runs(context: typer.Context) -> None:
    """List the runs."""
    if context.invoked_subcommand is not None:
        return
    records = list_records(context.obj)
    _show_runs({"runs": records}, records)


def _show_runs(result: Mapping[str, Any], records: list[dict[str, Any]]) -> None:
    lines = [
        f"{r['id']}  {r['name']:32} {r['method']:12} {r['dataset']:10} {r['status']:8}"
        f" {r['done']:>6,}/{r['total']:,}  no answer {r['fallbacks']:,}  public"
        f" {r['public_score'] if r['public_score'] is not None else '–'}"
        + (f"  fewer seeds {r['fewer_seeds']:,}" if r["fewer_seeds"] else "")
        for r in records
    ]
    show(result, "\n".join(lines) or "no runs yet; try: perturbdesk demo")


def _show_run(workspace: Workspace, run: Run) -> None:
    [record] = list_records(workspace, [run])
    _show_runs(record, [record])


@runs_app.command("set")
def set_(
    context: typer.Context,
    run: RunName,
    values: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE…", help="public_score=NUMBER, note=TEXT")
    ],
) -> None:
    """Record a public score or a note on a run."""
    pairs = dict(value.partition("=")[::2] for value in values)
    _show_run(context.obj, run_actions.set_values(context.obj, run, pairs))


@runs_app.command()
def rename(
    context: typer.Context, run: RunName, name: Annotated[str, typer.Argument(help="The new name.")]
) -> None:
    """Give a run another name."""
    _show_run(context.obj, run_actions.rename(context.obj, run, name))


@runs_app.command()
def delete(context: typer.Context, run: RunName) -> None:
    """Delete a run with its traces and notes."""
    [record] = list_records(context.obj, [run_actions.delete(context.obj, run)])
    show(record, f"{record['name']}: deleted, {record['done']:,} rows")


def status_record(workspace: Workspace, run: str) -> dict[str, Any]:
    """Return a run's status as JSON: what `runs` prints of it, with the state and counts of this
    moment."""
    found, status = run_control.find_status(workspace, run)
    [record] = list_records(workspace, [found])
    counts = status.counts
    return record | {
        "run": found.name,
        "status": status.state,
        "cause": status.cause,
        "total": status.total,
        "done": counts.done,
        "failed": counts.failed,
        "tokens": counts.cost or record["tokens"],
        "spent_tokens": counts.spent or (None if record["tokens"] is None and counts.done else 0),
        "unanswered": counts.unanswered,
        "left_s": status.left_s,
        **({"notice": status.notice} if status.servers else {}),
        **({"servers": [asdict(server) for server in status.servers]} if status.servers else {}),
    }


def show_status(workspace: Workspace, run: str, more: Mapping[str, Any] | None = None) -> bool:
    """Show the state of a run; return whether it continues, or ended with at least one answered
    row.

    more: further keys of the JSON.
    """
    run_control.settle(workspace, run)
    record = status_record(workspace, run)
    summary = (
        f"{record['run']}: {record['status']}, {record['done']:,} of {record['total']:,} rows,"
        f" {record['failed']:,} failed"
    )
    notes = [text for text in (record["cause"], record.get("notice", "")) if text]
    show({**(more or {}), **record}, "\n".join(["; ".join([summary, *notes]), *busy_lines(record)]))
    all_failed = record["status"] == "done" and record["failed"] and not record["done"]
    return not all_failed and record["status"] not in ("stopped", "crashed")


def busy_lines(record: Mapping[str, Any]) -> list[str]:
    """Return how each of several servers of a run is doing. record: of `status_record`."""
    lines = []
    for server in record.get("servers", ()):
        numbers = f"{server['done']:,} answers, {server['in_flight']:,} in flight"
        problem = f", {server['problem']}" if server["problem"] else ""
        lines.append(f"  {server['address']}: {server['state']}, {numbers}{problem}")
    return lines
