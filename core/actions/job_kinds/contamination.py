"""Jobs of the kind contamination: a run is asked again with other gene names."""

from __future__ import annotations

from core.actions.contamination import STUDY
from core.actions.job_kinds.study import StudyKind

KIND = StudyKind(STUDY, "Evidence")
