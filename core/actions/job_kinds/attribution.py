"""Jobs of the kind attribution: a run is asked again without each of its tools."""

from __future__ import annotations

from collections.abc import Iterator

from core.actions import attribution
from core.actions.attribution import SavedAttribution
from core.actions.job_kinds.base import Job, JobKind, with_notice_of_run
from core.actions.workspace import Workspace
from core.store import notes


class AttributionKind(JobKind):
    """Attributions that were saved here, by a page or by the command."""

    name, title, page = attribution.PAGE, "attribution", "evidence"

    def list_jobs(self, workspace: Workspace) -> Iterator[Job]:
        """Yield every attribution with a job, and those that are not finished."""
        with workspace.store.read() as db:
            known = notes.presets_of_page(db, attribution.PAGE)
        for values in known.values():
            if (job := self._job_of(workspace, attribution.read_saved(values))) is not None:
                yield job

    def _job_of(self, workspace: Workspace, saved: SavedAttribution) -> Job | None:
        spec = saved.spec
        view = {"dataset": spec.dataset, "attribution": spec.key}
        folder, name = attribution.job_of(workspace, spec.key), f"evidence of {spec.name}"
        if folder.was_begun:
            return with_notice_of_run(workspace, self.job_in(folder, name, view=view))
        return None if attribution.is_done(workspace, saved) else self.unbegun_in(folder, name, view)

    def resume(self, workspace: Workspace, job: Job) -> None:
        """Go on with the arms that are missing, with the model server that the latest of them has."""
        attribution.resume(workspace, job.key)


KIND = AttributionKind()
