"""Jobs of the kind run: a worker predicts the rows of a run. Readings have a separate kind.

What works on runs is imported where it is needed: every page asks for jobs.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.base.errors import DeskError, NotFound, StateError
from core.base.texts import describe_duration
from core.base.types import LIVE_STATES
from core.runs.jobs.control import Job, JobKind
from core.runs.run_folder import RUNS
from core.runs.run_state import Status, status_of
from core.runs.workspace import Workspace
from core.store import runs
from core.store.runs import Run


class RunKind(JobKind):
    """Runs that a worker of this workspace makes or made."""

    verbs = (*JobKind.verbs, "pause", "cancel", "retry")
    name, title, page = "run", "run", "run"
    place = RUNS
    of_readings = False

    def list_jobs(self, workspace: Workspace) -> Iterator[Job]:
        """Yield every run of this kind that has a folder."""
        with workspace.store.read() as db:
            known = [run for run in runs.list_all(db) if run.is_reading == self.of_readings]
        for run in known:
            if workspace.run_folder(run.id).exists:
                yield self.job_of(workspace, run)

    def find(self, workspace: Workspace, key: str) -> Job | None:
        """Return the job that makes the run of an id; None if there is none."""
        try:
            with workspace.store.read() as db:
                run = runs.find(db, key)
        except (NotFound, StateError):  # of runs that have the id as a name
            return None
        is_here = (
            run.id == key
            and run.is_reading == self.of_readings
            and workspace.run_folder(key).exists
        )
        return self.job_of(workspace, run) if is_here else None

    def job_of(self, workspace: Workspace, run: Run, status: Status | None = None) -> Job:
        """Return the job that makes a run. status: that of its folder, if it was read already."""
        folder = workspace.run_folder(run.id)
        page, view = self.page, {"dataset": run.dataset, "watched": run.id}
        if run.is_asked:  # the page Run lists no ad-hoc runs
            page, view = "ask", {"dataset": run.dataset, "asked": run.id}
        elif not run.is_reading:
            view["run"] = run.id
        try:
            status = status or status_of(folder)
        except DeskError as error:
            cause = f"the files of its worker cannot be read: {error}"
            return Job(
                self.name, run.id, run.name, folder, "crashed", cause=cause, page=page, view=view
            )
        finished = status.counts.done + status.counts.failed
        is_live = status.state in LIVE_STATES
        failed = f", {status.counts.failed:,} failed" if status.counts.failed else ""
        left = "" if status.left_s is None else f" · {describe_duration(status.left_s)} left"
        rate = ""
        if status.rows_per_s is not None and status.has_worker and finished and status.counts.cost:
            rate = f" · {status.counts.cost / finished * status.rows_per_s:,.0f} tokens/s"
        return Job(
            kind=self.name,
            key=run.id,
            name=run.name,
            folder=folder,
            state=status.state,
            is_live=is_live,
            can_stop=is_live,
            can_resume=status.state not in ("running", "pausing", "waiting", "done"),
            cause=status.cause,
            share=finished / max(status.total, 1),
            progress=f"{finished:,} of {status.total:,} rows{failed}{left}{rate}",
            waits_for=status.notice,
            begun_at=status.begun_at,
            pid=status.pid,
            page=page,
            view=view,
        )

    def stop(self, workspace: Workspace, job: Job) -> None:
        """End the work on a run; its finished rows stay."""
        from core.runs import run_control

        run_control.cancel(workspace, job.key)

    def resume(self, workspace: Workspace, job: Job) -> None:
        """Continue a run with the settings that it has."""
        from core.runs import run_control

        run_control.resume(workspace, job.key)


KIND = RunKind()
