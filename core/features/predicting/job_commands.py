"""Commands behind `jobs`: list, log, pause, resume, cancel, retry, stop, and what the process of a
declared kind runs.

All of them take jobs of every kind; what only a run can do is refused for others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer

from core.base.errors import StateError
from core.base.fields.record import make, options_of
from core.cli.base import Detach, JobName, show
from core.cli.settings import takes
from core.features.predicting.run_commands import list_records
from core.runs.jobs import control
from core.runs.jobs.control import Job
from core.runs.jobs.run_kind import RunKind
from core.runs.workspace import Workspace

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Include finished jobs.")] = False,
) -> None:
    """List background jobs of every kind that are running or ended early, the latest started
    first."""
    found = [job for job in control.list_jobs(context.obj) if every or job.state != "done"]
    none = "no job yet" if every else "no job is running or ended early; --all lists finished jobs"
    show({"jobs": [_record(job) for job in found]}, "\n".join(map(_line, found)) or none)


@app.command()
def log(
    context: typer.Context,
    job: JobName,
    lines: Annotated[int, typer.Option(help="How many lines to show.", min=1)] = 50,
) -> None:
    """Show the last lines of a job's log, and its state: with its error, if it ended early."""
    found = _find(context.obj, job, "log")
    said = found.log_tail(lines)
    status = status_record(context.obj, found.key) if _is_run(found) else {}
    shown = [*said, _line(found), *busy_lines(status)]
    show({**_record(found), **status, "lines": said}, "\n".join(shown))


def _add_verb(verb: str, about: str, act: Callable[[Workspace, Job], object]) -> None:
    """Add a command that does something to a job."""

    @app.command(verb, help=about)
    def command(context: typer.Context, job: JobName) -> None:
        found = _find(context.obj, job, verb)
        act(context.obj, found)
        _show(context.obj, found)


def _pause(workspace: Workspace, job: Job) -> None:
    from core.runs import run_control

    run_control.pause(workspace, job.key)


def _cancel(workspace: Workspace, job: Job) -> None:
    from core.runs import run_control

    run_control.cancel(workspace, job.key)


_add_verb("pause", "Let a run finish the rows in flight, then wait.", _pause)
_add_verb("cancel", "Stop a run for good; its finished rows stay.", _cancel)
_add_verb(
    "stop",
    "Ask a job to end. Its results so far stay, and `jobs resume` continues it.",
    control.stop,
)


def _add_restart(verb: Literal["resume", "retry"], about: str) -> None:
    """Add a command that goes on with a run, perhaps elsewhere or with more tokens, or with another
    job."""
    from core.runs.model_servers import ChangedSettings, change_settings

    @app.command(verb, help=about)
    @takes(ChangedSettings)
    def command(
        context: typer.Context, job: JobName, chosen: dict[str, Any], detach: Detach = False
    ) -> None:
        from core.runs import run_control

        found = _find(context.obj, job, verb)
        if _is_run(found):
            restart = run_control.resume if verb == "resume" else run_control.retry
            begin = run_control.start_worker if detach else run_control.work_on
            changes = make(ChangedSettings, chosen).values()
            restart(
                context.obj,
                found.key,
                settings=(
                    change_settings(run_control.settings_of(context.obj, found.key), **changes)
                    if changes
                    else None
                ),
                begin=begin,
            )
        else:
            for option in options_of(ChangedSettings):
                if chosen[option.name] is not None:
                    why = (
                        f"{found.title} goes on with the settings it was started with; expected"
                        " a run"
                    )
                    raise typer.BadParameter(why, param_hint=option.option)
            control.resume(context.obj, found)
        _show(context.obj, found)


_add_restart(
    "resume",
    "Resume a job that is paused or ended early: a run here unless --detach, any other job in a"
    " separate process.\n\nA run may go on elsewhere or with more tokens.",
)
_add_restart(
    "retry",
    "Predict the failed rows of a run again, optionally elsewhere or with more tokens.",
)


@app.command(hidden=True)
def work(context: typer.Context, kind: str, key: str) -> None:
    """Do the work of a job; the process of a job runs this."""
    control.work(context.obj, kind, key)


def _find(workspace: Workspace, name: str, verb: str) -> Job:
    """Return the job of a name or id. Raise StateError if one of its kind cannot do the verb."""
    found = control.find_named(workspace, name)
    kind = control.kind_of(found)
    if verb not in kind.verbs:
        raise StateError(
            f"jobs {verb} {found.title}: cannot be done to a {kind.title}; expected"
            f" {', '.join(kind.verbs)}"
        )
    return found


def _is_run(job: Job) -> bool:
    return isinstance(control.kind_of(job), RunKind)


def _show(workspace: Workspace, job: Job) -> None:
    """Show the present state of a job: of a run what `runs` prints of it, too."""
    now = control.find(workspace, job.kind, job.key) or job
    if _is_run(job):
        show_status(workspace, job.key, _record(now))
    else:
        show(_record(now), _line(now))


def _record(job: Job) -> dict[str, Any]:
    names = (
        "kind name state cause share progress waits_for last_line begun_at pid can_stop can_resume"
    )
    return {"job": job.title, "id": job.key, **{name: getattr(job, name) for name in names.split()}}


def _line(job: Job) -> str:
    share = "" if job.share is None or not job.is_live else f"{100 * job.share:.0f}%"
    waits = job.waits_for and f"waits: {job.waits_for}"
    parts = [job.words, share, job.progress, waits, job.cause]
    return f"{job.title}: {' · '.join(filter(None, parts))}"


def status_record(workspace: Workspace, run: str) -> dict[str, Any]:
    """Return a run's status as JSON: what `runs` prints of it, with the state and counts of this
    moment."""
    from core.runs import run_control

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
    from core.runs import run_control

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
