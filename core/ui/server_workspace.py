"""The server's own workspace, independent of who uses a browser.

A page makes changes only in the workspace of its user, which `shell.open_page` passes to it. Data
for all visitors are read in a workspace that refuses every change. `tests/test_whose_workspace.py`
checks who may import this. A thread records runs whose worker has died, so that no page waits for
it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.base import log
from core.base.environment import describe
from core.runs.jobs import overview
from core.runs.workspace import Person, Workspace, open_workspace
from core.store.runs import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from core.runs.component_loader import Progress
    from core.transfer.permutation_null import PermutationNull
    from core.transfer.protocols import KnnInputs

_BUSY = threading.Lock()


LookUp = Callable[[], Person | None]  # the present identity of a person


@st.cache_resource(show_spinner=False)
def _own_workspace() -> Workspace:
    """Return the server's own workspace, which no page gets, and open its log."""
    found = open_workspace()
    log.scrub_output(found.settings)
    log.configure(found.settings, "app", console=True)
    log.LOGGER.info("serves %s with version %s", found.settings.workspace, describe())
    return found


@st.cache_resource(show_spinner=False)
def read_workspace() -> Workspace:
    """Return the workspace for data shown to all visitors: it refuses every change and has no
    key."""
    return _own_workspace().for_reading("what all visitors see is only read")


def open_for(look_up: LookUp) -> Workspace | None:
    """Return the workspace with a person's permissions; None if they have no role.

    Without a sign-in, everybody who reaches the app is its user.
    """
    own = _own_workspace()
    if not own.settings.sign_in:
        return own
    person = look_up()
    return None if person is None else own.for_person(person, look_up)


def settle_runs(recorded: Sequence[Run]) -> None:
    """Record runs and other jobs that died unnoticed, in a thread, unless one is doing so."""
    own = _own_workspace()
    if (overview.unsettled_runs(own, recorded) or overview.find_unsettled(own)) and _BUSY.acquire(
        blocking=False
    ):
        threading.Thread(target=_settle, args=(own,), name="settle runs", daemon=True).start()


def keep_null(
    inputs: KnnInputs, labels: NDArray[Any], k: int, progress: Progress
) -> PermutationNull:
    """Return the null of a kNN, which the server caches once it is computed."""
    from core.runs.component_loader import find_null  # which pages without neighbours do not need

    return find_null(_own_workspace(), inputs, labels, k, progress=progress)


def _settle(workspace: Workspace) -> None:
    try:
        overview.settle_ended(workspace)
    except Exception as error:  # noqa: BLE001
        # the thread has no caller to report to
        log.record_error("settling runs in the background", error)
    finally:
        _BUSY.release()
