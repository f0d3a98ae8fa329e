"""Jobs of the kind contamination: a run is asked again with other gene names."""

from __future__ import annotations

from collections.abc import Mapping

from core.actions import contamination
from core.actions.job_kinds.base import Job
from core.actions.job_kinds.study import StudyJob, StudyKind
from core.actions.workspace import Workspace
from core.experiments.contamination import PAGE, SavedContamination


class ContaminationKind(StudyKind):
    """Experiments with other gene names that were saved here, by a page or by the command."""

    name, title, page, study = PAGE, "contamination", "evidence", contamination.STUDY

    def describe(self, saved: SavedContamination, states: Mapping[str, str], /) -> StudyJob:
        """Return the job of an experiment."""
        spec = saved.spec
        view = {"dataset": spec.dataset, "run": spec.run}
        return StudyJob(spec.key, f"gene names of {spec.name}", view, saved.is_done(states))

    def resume(self, workspace: Workspace, job: Job) -> None:
        """Go on with the arms that are missing, with the model server that the latest of them has."""
        contamination.resume(workspace, job.key)


KIND = ContaminationKind()
