"""A thread that brings the store up to date with runs whose worker has died, so that no page waits for it."""

from __future__ import annotations

import threading

from core import log
from core.actions import jobs
from core.actions.workspace import Workspace

_BUSY = threading.Lock()


def start(workspace: Workspace) -> None:
    """Settles the runs of a workspace in a thread, unless one is at it."""
    if _BUSY.acquire(blocking=False):
        threading.Thread(target=_settle, args=(workspace,), name="settle runs", daemon=True).start()


def _settle(workspace: Workspace) -> None:
    try:
        jobs.settle_ended(workspace)
    except Exception as error:  # noqa: BLE001
        log.record_error("settling runs in the background", error)  # nobody else would see it
    finally:
        _BUSY.release()
