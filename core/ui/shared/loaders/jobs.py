"""Background jobs in the state that their folders show now."""

from __future__ import annotations

from core.actions import job_control
from core.actions.job_kinds.base import Job, kinds
from core.ui.shared.server_workspace import read_workspace


def other_jobs() -> list[Job]:
    """Every job but the runs that predict, which pages load as runs."""
    return job_control.list_jobs(read_workspace(), [name for name in kinds() if name != "run"])
