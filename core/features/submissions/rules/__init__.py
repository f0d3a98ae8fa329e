"""Find every problem of a submission before it is submitted. Each rule is a small function; modules
group rules by subject."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.base.types import Track
from core.features.importing.problems import Problem
from core.features.submissions.parsed import UNKNOWN_RUN, RunProvenance, parse_submission
from core.features.submissions.rules import cells, eligibility, files, traces
from core.features.submissions.rules.registry import RULES
from core.features.submissions.tracks import LAYOUTS

__all__ = ["Problem", "cells", "check", "eligibility", "files", "is_valid", "traces"]


def check(
    content: bytes,
    name: str,
    track: Track,
    expected: Sequence[str],
    provenance: RunProvenance | None = None,
) -> list[Problem]:
    """Return the problems of a CSV or a zip, errors first. Nothing is written, and no content
    raises an error.

    expected: the ids of the rows to submit, in order. provenance: of the run behind the file, if
    known. A bare CSV needs neither prompt nor tools.
    """
    file = parse_submission(content, name, LAYOUTS[track], expected, provenance or UNKNOWN_RUN)
    found = [problem for rule in RULES.values() for problem in rule.problems(file)]
    return sorted(found, key=lambda problem: problem.severity != "error")


def is_valid(problems: Iterable[Problem]) -> bool:
    """Return whether none of the problems is an error."""
    return all(problem.severity != "error" for problem in problems)
