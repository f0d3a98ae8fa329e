"""The clash of a run's debates, as a finished reading has it; `readings` plans and starts one, with `SPEECHES`."""

from __future__ import annotations

from core.actions import readings
from core.actions.workspace import Workspace
from core.audit.clash import SPEECHES
from core.scoring.clash_counts import RunClash, load_clash
from core.store import runs


def clash_of_run(workspace: Workspace, run: str, reading: str | None = None) -> RunClash:
    """Return the clash of a run's debates. reading: a name or id, by default of the newest that is finished.

    Raise NotFound for an unknown run and if no reading is finished, InputError for a reading of something else.
    """
    with workspace.store.read() as db:
        found = runs.find_predicting(db, run)
        return load_clash(db, found, readings.find_reading(workspace, db, SPEECHES, found, reading))
