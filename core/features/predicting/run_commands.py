"""The command `runs`, which lists them, and behind it: set, rename, delete.

It imports nothing that works on a run, so that it answers at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from core.base.types import Flag
from core.cli.base import RunName, show
from core.runs import actions as run_actions
from core.runs.jobs import overview
from core.runs.workspace import Workspace
from core.store import datasets, runs
from core.store.runs import Run

runs_app = typer.Typer(invoke_without_command=True)


_RECORDED = (
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


def list_records(workspace: Workspace, chosen: list[Run] | None = None) -> list[dict[str, Any]]:
    """Return the chosen runs, or all, as `runs --json` prints them. done, failed: rows in the
    store."""
    with workspace.store.read() as db:
        of_dataset = {d.id: d.name for d in datasets.list_all(db)}
        fewer = runs.rows_with_flag(db, Flag.FEWER_SEEDS)
        recorded = runs.list_all(db) if chosen is None else chosen
    present = overview.with_present_states(workspace, recorded)
    return [
        {key: getattr(run, key) for key in _RECORDED}
        | {"dataset": of_dataset[run.dataset], "fewer_seeds": fewer.get(run.id, 0)}
        for run in present
    ]


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
