"""The definition of jobs that make the arms of a study, one run after the other. The kinds are in the files of their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from core.actions.job_kinds.base import UNFINISHED, Job, JobKind
from core.actions.studies import Study
from core.actions.workspace import Workspace
from core.engine.run_folder import RunFolder
from core.jobs.state import is_fresh, last_heartbeat
from core.store import runs


class StudyJob(NamedTuple):
    """The job of a saved study. key, name, view: as those of `Job`. is_done: whether all its runs are."""

    key: str
    name: str
    view: Mapping[str, str]
    is_done: bool


class StudyKind(JobKind):
    """Studies of a kind that were saved here, by a page or by the command."""

    study: Study[Any]

    def describe(self, saved: Any, states: Mapping[str, str], /) -> StudyJob:
        """Return the job of a saved study. states: run id → status of every run."""
        raise NotImplementedError

    def list_jobs(self, workspace: Workspace) -> Iterator[Job]:
        """Yield every study with a job, and those that are not finished."""
        with workspace.store.read() as db:
            states = runs.statuses(db)
        for saved in self.study.list_saved(workspace):
            key, name, view, is_done = self.describe(saved, states)
            folder = self.study.job_of(workspace, key)
            if folder.was_begun:
                yield _with_notice_of_run(workspace, self.job_in(folder, name, view=view))
            elif not is_done:  # no process of this version has worked on it
                yield Job(self.name, key, name, folder, UNFINISHED, can_resume=True, page=self.page, view=view)


def _with_notice_of_run(workspace: Workspace, job: Job) -> Job:
    """Return a job with what the run that its process makes now waits for."""
    if job.pid is None or job.waits_for:
        return job
    folders = (RunFolder(path) for path in (workspace.settings.data / "runs").glob("*"))
    said = [last_heartbeat(folder) or {} for folder in folders if is_fresh(folder) and not folder.done.exists()]
    notices = [each["notice"] for each in said if each.get("pid") == job.pid and each.get("notice")]
    return replace(job, waits_for="; ".join(notices))
