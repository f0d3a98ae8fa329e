"""Commands behind `jobs`: list, log, stop, resume, and what the process of a declared kind runs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from core.actions import job_control
from core.actions.job_kinds.base import Job
from core.cli.base import Json, show
from core.cli.names import JobName

app = typer.Typer()


@app.command("list")
def list_(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Include finished jobs.")] = False,
    as_json: Json = False,
) -> None:
    """List background jobs of every kind that are running or ended early, the latest started first."""
    found = [job for job in job_control.list_jobs(context.obj) if every or job.state != "done"]
    none = "no job yet" if every else "no job is running or ended early; --all lists finished jobs"
    show({"jobs": [_record(job) for job in found]}, as_json, "\n".join(map(_line, found)) or none)


@app.command()
def log(
    context: typer.Context,
    job: JobName,
    lines: Annotated[int, typer.Option(help="How many lines to show.", min=1)] = 50,
    as_json: Json = False,
) -> None:
    """Show the last lines of a job's log, and its state: with its error, if it ended early."""
    found = job_control.find_named(context.obj, job)
    said = found.log_tail(lines)
    show({**_record(found), "lines": said}, as_json, "\n".join([*said, _line(found)]))


@app.command()
def stop(context: typer.Context, job: JobName, as_json: Json = False) -> None:
    """Ask a job to end. Its results so far stay, and `jobs resume` continues it."""
    _show(job_control.stop(context.obj, job_control.find_named(context.obj, job)), as_json)


@app.command()
def resume(context: typer.Context, job: JobName, as_json: Json = False) -> None:
    """Resume a job that ended early, in a separate process. A running job is left alone."""
    _show(job_control.resume(context.obj, job_control.find_named(context.obj, job)), as_json)


@app.command(hidden=True)
def work(context: typer.Context, kind: str, key: str) -> None:
    """Do the work of a job; the process of a job runs this."""
    job_control.work(context.obj, kind, key)


def _show(job: Job, as_json: bool) -> None:
    show(_record(job), as_json, _line(job))


def _record(job: Job) -> dict[str, Any]:
    return {
        "job": job.title,
        "kind": job.kind,
        "id": job.key,
        "name": job.name,
        "state": job.state,
        "cause": job.cause,
        "share": job.share,
        "progress": job.progress,
        "waits_for": job.waits_for,
        "last_line": job.last_line,
        "begun_at": job.begun_at,
        "pid": job.pid,
        "can_stop": job.can_stop,
        "can_resume": job.can_resume,
    }


def _line(job: Job) -> str:
    share = "" if job.share is None or not job.is_live else f"{100 * job.share:.0f}%"
    parts = [job.words, share, job.progress, job.waits_for and f"waits: {job.waits_for}", job.cause]
    return f"{job.title}: {' · '.join(filter(None, parts))}"
