"""Jobs of the kind experiment: its runs are made, one after the other.

The engine is imported where there is an experiment: every page asks for jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from core.runs.jobs.control import UNFINISHED, Job, JobKind
from core.runs.jobs.work import Reporter
from core.runs.workspace import Workspace
from core.store import notes, runs
from core.store.queries import one

PRESETS = "experiments"  # the page whose presets are the saved experiments


class ExperimentJob(JobKind):
    """Experiments that were started here, by a page or by the command."""

    name, title, page, tab = "experiment", "experiment", "experiments", "Results"

    def list_jobs(self, workspace: Workspace) -> Iterator[Job]:
        """Yield every experiment with a job, and those that are not finished."""
        with workspace.store.read() as db:
            if not notes.presets_of_page(db, PRESETS):
                return
            states = runs.statuses(db)
        from core.features.experiments import engine

        for saved in engine.list_saved(workspace):
            folder = engine.job_of(workspace, saved)
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
        from core.features.experiments import engine

        engine.resume(workspace, engine.find_saved(workspace, job.key))

    def work(self, workspace: Workspace, wanted: Mapping[str, Any], reporter: Reporter, /) -> None:
        """Make the runs that are missing."""
        from core.features.experiments import engine

        engine.work(workspace, wanted["key"], reporter)


def has_experiments(workspace: Workspace) -> bool:
    """Return whether there is an experiment, or an entry of the ledger."""
    with workspace.store.read() as db:
        entry = one(db, "SELECT 1 FROM hypothesis LIMIT 1")
        return entry is not None or bool(notes.presets_of_page(db, PRESETS))


KIND = ExperimentJob()
