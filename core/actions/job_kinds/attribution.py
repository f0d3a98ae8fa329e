"""Jobs of the kind attribution: a run is asked again without each of its tools."""

from __future__ import annotations

from collections.abc import Mapping

from core.actions import attribution
from core.actions.attribution import SavedAttribution
from core.actions.job_kinds.base import Job
from core.actions.job_kinds.study import StudyJob, StudyKind
from core.actions.workspace import Workspace


class AttributionKind(StudyKind):
    """Attributions that were saved here, by a page or by the command."""

    name, title, page, study = attribution.PAGE, "attribution", "evidence", attribution.STUDY

    def describe(self, saved: SavedAttribution, states: Mapping[str, str], /) -> StudyJob:
        """Return the job of an attribution."""
        spec = saved.spec
        view = {"dataset": spec.dataset, "attribution": spec.key}
        return StudyJob(spec.key, f"evidence of {spec.name}", view, saved.is_done(states))

    def resume(self, workspace: Workspace, job: Job) -> None:
        """Go on with the arms that are missing, with the model server that the latest of them has."""
        attribution.resume(workspace, job.key)


KIND = AttributionKind()
