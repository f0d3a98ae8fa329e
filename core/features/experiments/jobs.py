"""Jobs of the kind experiment: its runs are made, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from core.runs.jobs.kinds import UNFINISHED, Job, JobKind
from core.runs.jobs.work import Reporter
from core.runs.workspace import Workspace
from core.store import runs


class ExperimentJob(JobKind):
    """Experiments that were started here, by a page or by the command."""

    name, title, page, tab = JOB, "experiment", "experiments", "Results"

    def list_jobs(self, workspace: Workspace) -> Iterator[Job]:
        """Yield every experiment with a job, and those that are not finished."""
        with workspace.store.read() as db:
            states = runs.statuses(db)
        for saved in list_saved(workspace):
            folder = job_of(workspace, saved)
            view = {"dataset": saved.dataset, "tab": self.tab, "experiment": saved.key}
            if folder.was_begun:
                yield self.job_in(folder, saved.name, view=view)
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
        start_apart(workspace, plan_again(workspace, find_saved(workspace, job.key)))

    def work(self, workspace: Workspace, wanted: Mapping[str, Any], reporter: Reporter, /) -> None:
        """Make the runs that are missing."""
        planned = plan_again(workspace, find_saved(workspace, wanted["key"]))
        _make(workspace, planned, reporter, None)


JOB_KIND = ExperimentJob()
