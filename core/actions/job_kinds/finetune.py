"""Jobs of the kind finetune: an open model is trained on labelled rows."""

from __future__ import annotations

from collections.abc import Iterator

from core.actions import finetunes
from core.actions.job_kinds.base import Job, JobKind
from core.actions.workspace import Workspace
from core.errors import DeskError
from core.finetune.job_folder import FinetuneFolder
from core.finetune.status import FinetuneStatus, status_of
from core.texts import describe_duration


class FinetuneKind(JobKind):
    """Fine-tunes, which lie in data/finetune."""

    name, title, page, tab = "finetune", "fine-tune", "run", "Fine-tune"

    def list_jobs(self, workspace: Workspace) -> Iterator[Job]:
        """Yield every fine-tune."""
        for folder in finetunes.list_all(workspace):
            yield self._job_of(folder)

    def _job_of(self, folder: FinetuneFolder) -> Job:
        view = {"tab": self.tab, "finetune": folder.key}
        try:
            spec, status = folder.spec(), status_of(folder)
        except DeskError as error:
            return self.job_in(folder.worker, state="crashed", cause=str(error), can_resume=False, view=view)
        job = self.job_in(folder.worker)
        return self.job_in(
            folder.worker,
            spec.name,
            state=status.state,
            can_stop=job.can_stop and status.state != "merging",
            share=1.0 if status.state == "done" else status.step / status.steps if status.steps else 0.0,
            progress=progress_text(status),
            view=view,
        )

    def stop(self, workspace: Workspace, job: Job) -> None:
        """Have it write a checkpoint after its step, and end."""
        finetunes.stop(workspace, job.key)

    def resume(self, workspace: Workspace, job: Job) -> None:
        """Go on from the last whole checkpoint."""
        finetunes.resume(workspace, job.key)


def progress_text(status: FinetuneStatus) -> str:
    """Return the progress of a fine-tune, in words; "" if unknown."""
    if status.steps is None or status.all_rows is None:
        return ""
    parts = [f"step {status.step:,} of {status.steps:,}", f"{status.rows:,} of {status.all_rows:,} rows"]
    if status.loss is not None:
        parts.append(f"loss {status.loss:.3f}")
    if status.left_s is not None:
        parts.append(f"{describe_duration(status.left_s)} left")
    return " · ".join(parts)


KIND = FinetuneKind()
