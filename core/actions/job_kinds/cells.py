"""Jobs of the kind cells: each makes a dataset from a file of single cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.actions import cells, jobs
from core.actions.cells import KIND as NAME
from core.actions.job_kinds.base import Job, JobKind
from core.actions.workspace import Workspace
from core.jobs.folder import JobFolder, last_line
from core.jobs.process import process_start
from core.store import datasets
from core.texts import parse_json

_EARLIER = "cells"  # in the workspace's cache: jobs that version 0.1 started


@dataclass(frozen=True, slots=True)
class _EarlierFolder(JobFolder):
    """The files of a job that version 0.1 started: without subfolders and without a state file."""

    @property
    def log(self) -> Path:
        return self.path.with_suffix(".log")


class CellKind(JobKind):
    """Labels of files of cells. One that a command of version 0.2 began does not say how: the same command continues it."""

    name, title, page, tab = NAME, "labels of cells", "data", "Import"

    def list_jobs(self, workspace: Workspace) -> Iterator[Job]:
        """Yield the jobs started here, also those of version 0.1 unless their files cannot be read."""
        with workspace.store.read() as db:
            made = {dataset.name: dataset.id for dataset in datasets.list_all(db)}
        for folder in jobs.list_folders(workspace, self.name):
            job = self.job_in(folder, cells.dataset_of(folder))
            can_resume = job.can_resume and bool(jobs.find_about(folder))
            yield self.job_in(folder, job.name, can_resume=can_resume, view=self._view(made.get(job.name)))
        for file in sorted((workspace.settings.cache / _EARLIER).glob("*.json")):
            try:
                yield self._read_earlier(file, made)
            except (OSError, ValueError, KeyError, TypeError):
                continue

    def _read_earlier(self, file: Path, made: Mapping[str, str]) -> Job:
        values: dict[str, Any] = parse_json(file.read_bytes())
        name, pid = str(values["dataset"]), int(values["pid"])
        is_live = values["born"] is not None and process_start(pid) == values["born"]
        line = last_line(file.with_suffix(".log"))
        state = "running" if is_live else "done" if name in made and not line.startswith("error: ") else "failed"
        cause, began = line if state == "failed" else "", float(values["started_at"])
        folder, view = _EarlierFolder(file.with_suffix("")), self._view(made.get(name))
        return Job(self.name, file.stem, name, folder, state, is_live, cause=cause, begun_at=began, page=self.page, view=view)

    def _view(self, dataset: str | None) -> Mapping[str, str]:
        return {"tab": self.tab, **({} if dataset is None else {"dataset": dataset})}


KIND = CellKind()
