"""Jobs of the kind benchmark: every arm of a benchmark is made, a run after the other."""

from __future__ import annotations

from collections.abc import Iterator

from core.actions import benchmark_plans, benchmarks
from core.actions.benchmarks import SavedBenchmark
from core.actions.job_kinds.base import Job, JobKind, with_notice_of_run
from core.actions.workspace import Workspace


class BenchmarkKind(JobKind):
    """Benchmarks that were saved here, by a page or by the command."""

    name, title, page = benchmarks.PAGE, "benchmark", "benchmark"

    def list_jobs(self, workspace: Workspace) -> Iterator[Job]:
        """Yield every benchmark with a job, and those that are not finished."""
        for values in benchmarks.saved_benchmarks(workspace).values():
            if (job := self.job_of(workspace, benchmarks.read_saved(values))) is not None:
                yield job

    def job_of(self, workspace: Workspace, saved: SavedBenchmark) -> Job | None:
        """Return the job that makes a benchmark; None for a finished one that was made without a job."""
        folder, name = benchmarks.job_of(workspace, saved.spec.name), saved.spec.name
        view = {"dataset": saved.dataset, "benchmark": name}
        if not folder.was_begun:
            return None if saved.is_done else self.unbegun_in(folder, name, view)
        return with_notice_of_run(workspace, self.job_in(folder, name, view=view))

    def resume(self, workspace: Workspace, job: Job) -> None:
        """Go on with the arms that are missing."""
        benchmark_plans.start_apart(workspace, benchmarks.find_saved(workspace, job.name).spec)


KIND = BenchmarkKind()
