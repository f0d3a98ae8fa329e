"""The definition of jobs that make the arms of a study, one run after the other. The kinds are in the files of their names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from core.actions.job_kinds.base import UNFINISHED, Job, JobKind
from core.actions.studies import Study
from core.actions.workspace import Workspace
from core.engine.run_folder import RUNS, RunFolder
from core.jobs.state import is_fresh, last_heartbeat
from core.store import runs


class StudyKind(JobKind):
    """Studies of a kind that were saved here, by a page or by the command. tab: of the page Experiments, which shows them."""

    page = "experiments"

    def __init__(self, study: Study[Any], tab: str) -> None:
        self.name, self.title, self.tab, self._study = study.page, study.page, tab, study

    def list_jobs(self, workspace: Workspace) -> Iterator[Job]:
        """Yield every study with a job, and those that are not finished."""
        with workspace.store.read() as db:
            states = runs.statuses(db)
        for saved in self._study.list_saved(workspace):
            key, name, view, is_done = self._study.describe_job(saved, states)
            folder, view = self._study.job_of(workspace, key), {**view, "tab": self.tab}
            if folder.was_begun:
                yield _with_notice_of_run(workspace, self.job_in(folder, name, view=view))
            elif not is_done:  # no process of this version has worked on it
                yield Job(self.name, key, name, folder, UNFINISHED, can_resume=True, page=self.page, view=view)

    def resume(self, workspace: Workspace, job: Job) -> None:
        """Go on with the arms that are missing."""
        known = self._study.list_saved(workspace)
        self._study.resume(workspace, next(each for each in known if self._study.describe_job(each, {}).key == job.key))


def _with_notice_of_run(workspace: Workspace, job: Job) -> Job:
    """Return a job with what the run that its process makes now waits for."""
    if job.pid is None or job.waits_for:
        return job
    folders = (RunFolder(path) for path in (workspace.settings.data / RUNS).glob("[!.]*"))
    said = [last_heartbeat(folder) or {} for folder in folders if is_fresh(folder) and not folder.done.exists()]
    notices = [each["notice"] for each in said if each.get("pid") == job.pid and each.get("notice")]
    return replace(job, waits_for="; ".join(notices))
