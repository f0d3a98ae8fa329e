"""Runs in the state that their folders show now: the store learns of a worker's death only when somebody settles the run.

Every command settles what died before it first reaches for the store (`SettleOnce`), whatever it reads; a page does it in the
background, and shows the states of the folders meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core import log
from core.actions import jobs
from core.actions.workspace import Workspace
from core.engine.run_folder import RunFolder
from core.engine.run_state import LIVE_STATES, state_of
from core.errors import DeskError, StoreBusy
from core.store import runs
from core.store.runs import Run


def with_present_states(workspace: Workspace, recorded: Sequence[Run]) -> list[Run]:
    """Returns runs of the store, each in its present state; their counts are those of the rows that the store has."""
    return [_with_present_state(workspace, run) for run in recorded]


def _with_present_state(workspace: Workspace, run: Run) -> Run:
    folder = workspace.run_folder(run.id)
    if not folder.exists:  # no worker of this workspace made it
        return run
    try:
        state, cause = state_of(folder)
    except DeskError as error:
        log.record_error(f"run {run.id}", error)
        return replace(run, status="crashed", cause=f"the files of its worker cannot be read: {error}")
    return run if (state, cause) == (run.status, run.cause) else replace(run, status=state, cause=cause)


def unsettled_runs(workspace: Workspace, recorded: Sequence[Run]) -> list[Run]:
    """Returns those runs of the store that no worker is on, and of which it lacks the state or rows; none in read-only mode."""
    if workspace.settings.read_only:
        return []
    present = with_present_states(workspace, recorded)
    return [
        run
        for run, now in zip(recorded, present, strict=True)
        if now.status not in (*LIVE_STATES, "waiting")
        and (now.status != run.status or _has_more_rows(workspace.run_folder(run.id), run.folded_bytes))
    ]


def _has_more_rows(folder: RunFolder, start: int) -> bool:
    """Returns whether a journal has a whole line behind this byte."""
    if not folder.rows.exists() or folder.rows.stat().st_size <= start:
        return False
    with folder.rows.open("rb") as journal:
        journal.seek(start)
        return journal.readline().endswith(b"\n")


class SettleOnce:
    """Settles what died before the store of a workspace is first used; of a workspace without a store there is nothing."""

    def __init__(self) -> None:
        self._is_settled = False

    def __call__(self, workspace: Workspace) -> None:
        if not self._is_settled and workspace.settings.store_file.exists():
            self._is_settled = True
            settle_ended(replace(workspace, before_use=None))


def settle_ended(workspace: Workspace) -> list[Run]:
    """Brings the store up to date with every run that no worker is on any more, and records which other jobs crashed; returns
    those runs. Writes nothing in read-only mode. What fails is in the log and tried again the next time: whoever reads the runs
    goes on."""
    jobs.settle_crashed(workspace)
    with workspace.store.read() as db:
        recorded = runs.list_all(db)
    unsettled = unsettled_runs(workspace, recorded)
    if not unsettled:
        return []
    from core.actions import run_control  # brings the methods, which most readers do without

    settled = []
    for run in unsettled:
        try:
            settled.append(run_control.settle(workspace, run.id))
        except StoreBusy as error:
            log.record_error(f"settling run {run.id}", error)
            break
        except DeskError as error:
            log.record_error(f"settling run {run.id}", error)
    return settled
