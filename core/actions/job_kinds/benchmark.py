"""Jobs of the kind benchmark: every arm of a benchmark is made, a run after the other."""

from __future__ import annotations

from collections.abc import Mapping

from core.actions import benchmark_plans, benchmarks
from core.actions.benchmarks import SavedBenchmark
from core.actions.job_kinds.base import Job
from core.actions.job_kinds.study import StudyJob, StudyKind
from core.actions.workspace import Workspace


class BenchmarkKind(StudyKind):
    """Benchmarks that were saved here, by a page or by the command."""

    name, title, page, study = benchmarks.PAGE, "benchmark", "benchmark", benchmarks.STUDY

    def describe(self, saved: SavedBenchmark, _: Mapping[str, str], /) -> StudyJob:
        """Return the job of a benchmark."""
        name = saved.spec.name
        return StudyJob(benchmarks.job_key(name), name, {"dataset": saved.dataset, "benchmark": name}, saved.is_done)

    def resume(self, workspace: Workspace, job: Job) -> None:
        """Go on with the arms that are missing."""
        benchmark_plans.start_apart(workspace, self.study.find_saved(workspace, job.name).spec)


KIND = BenchmarkKind()
