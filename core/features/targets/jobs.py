"""Jobs of the kind targets: models that rank perturbation targets are trained."""

from __future__ import annotations

from collections.abc import Iterator

from core.features.targets import actions as target_ranking
from core.runs.jobs.control import Job, JobKind
from core.runs.workspace import Workspace


class TargetKind(JobKind):
    """Trainings of target rankings, which lie in data/targets."""

    name, title, page, tab = "targets", "target ranking", "targets", "Training"

    def list_jobs(self, workspace: Workspace) -> Iterator[Job]:
        """Yield every target ranking."""
        for folder in target_ranking.list_all(workspace):
            yield self.job_in(
                folder.job, folder.name, view={"tab": self.tab, "ranking": folder.name}
            )

    def resume(self, workspace: Workspace, job: Job) -> None:
        """Go on after the models that are there."""
        target_ranking.resume(workspace, job.key)


KIND = TargetKind()
