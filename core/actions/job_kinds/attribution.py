"""Jobs of the kind attribution: a run is asked again without each of its tools."""

from __future__ import annotations

from core.actions.attribution import STUDY
from core.actions.job_kinds.study import StudyKind

KIND = StudyKind(STUDY, "Evidence")
