"""Jobs of the kind cells: each makes a dataset from a file of single cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from core.actions import cells, jobs
from core.actions.cells import KIND as NAME
from core.actions.job_kinds.base import Job, JobKind
from core.actions.workspace import Workspace
from core.store import datasets


class CellKind(JobKind):
    """Labels of files of cells."""

    name, title, page, tab = NAME, "labels of cells", "data", "Import"

    def list_jobs(self, workspace: Workspace) -> Iterator[Job]:
        """Yield the jobs started here."""
        with workspace.store.read() as db:
            made = {dataset.name: dataset.id for dataset in datasets.list_all(db)}
        for folder in jobs.list_folders(workspace, self.name):
            job = self.job_in(folder, cells.dataset_of(folder))
            can_resume = job.can_resume and bool(jobs.find_about(folder))
            yield self.job_in(folder, job.name, can_resume=can_resume, view=self._view(made.get(job.name)))

    def _view(self, dataset: str | None) -> Mapping[str, str]:
        return {"tab": self.tab, **({} if dataset is None else {"dataset": dataset})}


KIND = CellKind()
