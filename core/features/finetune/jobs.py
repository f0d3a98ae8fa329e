"""Jobs of the kind finetune: an open model is trained on labelled rows.

What they do is imported where there is one: every page asks for jobs.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.base.errors import DeskError
from core.runs.jobs.control import Job, JobKind
from core.runs.workspace import Workspace


class FinetuneKind(JobKind):
    """Fine-tunes, which lie in data/finetune."""

    name, title = "finetune", "fine-tune"
    place = "finetune"

    def list_jobs(self, workspace: Workspace) -> Iterator[Job]:
        """Yield every fine-tune."""
        from core.features.finetune.actions import list_all

        for folder in list_all(workspace):
            try:
                yield self.job_in(folder, folder.spec().name)
            except DeskError as error:
                yield self.job_in(folder, state="crashed", cause=str(error), can_resume=False)

    def resume(self, workspace: Workspace, job: Job) -> None:
        """Go on from the last whole checkpoint."""
        from core.features.finetune.actions import resume

        resume(workspace, job.key)


KIND = FinetuneKind()
