"""Jobs of the kind targets: models that rank perturbation targets are trained.

What they do is imported where there is one: every page asks for jobs.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.runs.jobs.control import Job, JobKind
from core.runs.workspace import Workspace


class TargetKind(JobKind):
    """Trainings of target rankings, which lie in data/targets."""

    name, title, page, tab = "targets", "target ranking", "targets", "Training"
    place = "targets"

    def list_jobs(self, workspace: Workspace) -> Iterator[Job]:
        """Yield every target ranking."""
        from core.features.targets.actions import list_all

        for folder in list_all(workspace):
            yield self.job_in(folder, view={"tab": self.tab, "ranking": folder.key})

    def resume(self, workspace: Workspace, job: Job) -> None:
        """Go on after the models that are there."""
        from core.features.targets.actions import resume

        resume(workspace, job.key)


def has_rankings(workspace: Workspace) -> bool:
    """Return whether a target ranking was started here."""
    return any((workspace.settings.data / KIND.place).glob("[!.]*"))


KIND = TargetKind()
