"""Jobs of the kind reading: runs that read texts of other runs."""

from __future__ import annotations

from core.runs.jobs.run_kind import RunKind


class ReadingKind(RunKind):
    """Readings that a worker of this workspace makes or made."""

    name, title = "reading", "reading"
    of_readings = True


KIND = ReadingKind()
