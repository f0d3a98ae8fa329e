"""The workspace as the server itself has it open, whoever is at a browser, and the little that is done in it.

A page changes things in the workspace of its person, which `shell.open_page` hands it, and in no other. What is loaded for every
visitor alike is read in a workspace that refuses every change. `tests/test_whose_workspace.py` holds who may import what of this.

A thread that brings the store up to date with runs whose worker has died, so that no page waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core import log
from core.actions import jobs, knn_numbers
from core.actions.knn_numbers import Progress
from core.actions.workspace import Person, Workspace, open_workspace
from core.store.runs import Run
from core.transfer.permutation_null import PermutationNull
from core.transfer.protocols import KnnInputs
from core.version import describe

_BUSY = threading.Lock()


LookUp = Callable[[], Person | None]  # who somebody is now


@st.cache_resource(show_spinner=False)
def _own_workspace() -> Workspace:
    """Return the server's own workspace, which no page gets; its log is opened with it."""
    found = open_workspace()
    log.scrub_output(found.settings)
    log.configure(found.settings, "app", console=True)
    log.LOGGER.info("serves %s with version %s", found.settings.workspace, describe())
    return found


@st.cache_resource(show_spinner=False)
def read_workspace() -> Workspace:
    """Return the workspace for whatever every visitor sees alike: it refuses every change and has no key."""
    return _own_workspace().for_reading("what all visitors see is only read")


def open_for(look_up: LookUp) -> Workspace | None:
    """Return the workspace as a person may use it; None if they have no role.

    Without a sign-in, whoever reaches the app is its user.
    """
    own = _own_workspace()
    if not own.settings.sign_in:
        return own
    person = look_up()
    return None if person is None else own.used_by(person, look_up)


def settle_runs(recorded: Sequence[Run]) -> None:
    """Record in the background what died while nobody looked, runs and other jobs, if anything did."""
    own = _own_workspace()
    if jobs.unsettled_runs(own, recorded) or jobs.find_unsettled(own):
        _settle_apart(own)


def keep_null(inputs: KnnInputs, labels: NDArray[np.object_], k: int, progress: Progress) -> PermutationNull:
    """Return the null of a kNN, which the server keeps in its cache once it is computed."""
    return knn_numbers.find_null(_own_workspace(), inputs, labels, k, progress=progress)


def _settle_apart(workspace: Workspace) -> None:
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
