"""Jobs of the kind benchmark: every arm of a benchmark is made, a run after the other."""

from __future__ import annotations

from core.actions.benchmarks import STUDY
from core.actions.job_kinds.study import StudyKind

KIND = StudyKind(STUDY, "Benchmark")
