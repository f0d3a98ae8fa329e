"""Jobs of the kind cells: each makes a dataset from a file of single cells.

What they do is imported where there is one: every page asks for jobs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from core.runs.jobs import overview
from core.runs.jobs.control import Job, JobKind
from core.runs.workspace import Workspace
from core.store import datasets


class CellKind(JobKind):
    """Labels of files of cells."""

    name, title, page, tab = "cells", "labels of cells", "data", "Import"
    place = "jobs/cells"

    def list_jobs(self, workspace: Workspace) -> Iterator[Job]:
        """Yield the jobs started here."""
        from core.features.cells.actions import dataset_of

        with workspace.store.read() as db:
            made = {dataset.name: dataset.id for dataset in datasets.list_all(db)}
        for folder in overview.list_folders(workspace, self.name):
            name = dataset_of(folder)
            view = {"tab": self.tab, **({"dataset": made[name]} if name in made else {})}
            job = self.job_in(folder, name, view=view)
            yield job if overview.find_about(folder) else replace(job, can_resume=False)


KIND = CellKind()
