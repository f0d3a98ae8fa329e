"""Jobs of the kind reading: a model answers a rubric about the texts of a run, in a run of its
own."""

from __future__ import annotations

from core.runs.jobs.run_kind import RunKind


class ReadingKind(RunKind):
    """Readings that a worker of this workspace makes or made."""

    name, title = "reading", "reading"
    of_readings = True


READING_KIND = ReadingKind()
