"""The status of a run that a worker makes, as `run` and `jobs` print it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from core.cli.base import show
from core.features.predicting.run_commands import list_records
from core.runs import run_control
from core.runs.workspace import Workspace


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
