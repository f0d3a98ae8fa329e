"""Jobs of the kind experiment: its runs are made, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from core.features.experiments import engine
from core.runs.jobs.control import UNFINISHED, Job, JobKind
from core.runs.jobs.state import is_fresh, last_heartbeat
from core.runs.jobs.work import Reporter
from core.runs.run_folder import RUNS, RunFolder
from core.runs.workspace import Workspace
from core.store import runs


class ExperimentJob(JobKind):
    """Experiments that were started here, by a page or by the command."""

    name, title, page, tab = engine.JOB, "experiment", "experiments", "Results"

    def list_jobs(self, workspace: Workspace) -> Iterator[Job]:
        """Yield every experiment with a job, and those that are not finished."""
        with workspace.store.read() as db:
            states = runs.statuses(db)
        for saved in engine.list_saved(workspace):
            folder = engine.job_of(workspace, saved)
            view = {"dataset": saved.dataset, "tab": self.tab, "experiment": saved.key}
            if folder.was_begun:
                yield _with_notice_of_run(workspace, self.job_in(folder, saved.name, view=view))
            elif saved.count_left(states):  # no process of this version has worked on it
                yield Job(
                    self.name,
                    saved.key,
                    saved.name,
                    folder,
                    UNFINISHED,
                    can_resume=True,
                    page=self.page,
                    view=view,
                )

    def resume(self, workspace: Workspace, job: Job) -> None:
        """Go on with the runs that are missing."""
        engine.resume(workspace, engine.find_saved(workspace, job.key))

    def work(self, workspace: Workspace, wanted: Mapping[str, Any], reporter: Reporter, /) -> None:
        """Make the runs that are missing."""
        engine.work(workspace, wanted["key"], reporter)


def _with_notice_of_run(workspace: Workspace, job: Job) -> Job:
    """Return a job with what the run that its process makes now waits for."""
    if job.pid is None or job.waits_for:
        return job
    folders = (RunFolder(path) for path in (workspace.settings.data / RUNS).glob("[!.]*"))
    beats = [
        last_heartbeat(folder) or {}
        for folder in folders
        if is_fresh(folder) and not folder.done.exists()
    ]
    notices = [
        beat["notice"] for beat in beats if beat.get("pid") == job.pid and beat.get("notice")
    ]
    return replace(job, waits_for="; ".join(notices))


KIND = ExperimentJob()
