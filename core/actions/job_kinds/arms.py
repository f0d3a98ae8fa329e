"""Jobs that make runs in their own process, an arm after the other: what the run that is being made waits for."""

from __future__ import annotations

from dataclasses import replace

from core.actions.job_kinds.base import Job
from core.actions.workspace import Workspace
from core.engine.run_folder import RunFolder
from core.jobs.state import is_fresh, last_heartbeat


def with_notice_of_run(workspace: Workspace, job: Job) -> Job:
    """Return a job with what the run that its process makes now waits for."""
    if job.pid is None or job.waits_for:
        return job
    folders = (RunFolder(path) for path in (workspace.settings.data / "runs").glob("*"))
    said = [last_heartbeat(folder) or {} for folder in folders if is_fresh(folder) and not folder.done.exists()]
    notices = [each["notice"] for each in said if each.get("pid") == job.pid and each.get("notice")]
    return replace(job, waits_for="; ".join(notices))
