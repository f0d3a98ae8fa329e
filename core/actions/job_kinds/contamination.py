"""Jobs of the kind contamination: a run is asked again with other gene names."""

from __future__ import annotations

from collections.abc import Iterator

from core.actions import contamination
from core.actions.job_kinds.base import Job, JobKind, with_notice_of_run
from core.actions.workspace import Workspace
from core.experiments.contamination import PAGE, SavedContamination, read_saved
from core.store import notes, runs


class ContaminationKind(JobKind):
    """Experiments with other gene names that were saved here, by a page or by the command."""

    name, title, page = PAGE, "contamination", "evidence"

    def list_jobs(self, workspace: Workspace) -> Iterator[Job]:
        """Yield every experiment with a job, and those that are not finished."""
        with workspace.store.read() as db:
            known, states = notes.presets_of_page(db, PAGE), runs.statuses(db)
        for saved in map(read_saved, known.values()):
            is_done = all(states.get(run) == "done" for run in saved.runs.values())
            if (job := self._job_of(workspace, saved, is_done=is_done)) is not None:
                yield job

    def _job_of(self, workspace: Workspace, saved: SavedContamination, *, is_done: bool) -> Job | None:
        spec = saved.spec
        view = {"dataset": spec.dataset, "run": spec.run}
        folder, name = contamination.job_of(workspace, spec.key), f"gene names of {spec.name}"
        if folder.was_begun:
            return with_notice_of_run(workspace, self.job_in(folder, name, view=view))
        return None if is_done else self.unbegun_in(folder, name, view)

    def resume(self, workspace: Workspace, job: Job) -> None:
        """Go on with the arms that are missing, with the model server that the latest of them has."""
        contamination.resume(workspace, job.key)


KIND = ContaminationKind()
