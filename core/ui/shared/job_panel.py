"""A background job on a page: how far it is, or why it ended early, with the end of its log."""

from __future__ import annotations

import streamlit as st

from core.jobs.folder import JobFolder, log_tail
from core.jobs.state import JobStatus, status_of
from core.ui.shared.widgets import as_text

_LOG_LINES = 12
WORDS = {
    "waiting": "Starting.",
    "running": "Running",
    "failed": "It failed",
    "stopped": "It was stopped",
    "interrupted": "It was interrupted",
    "crashed": "It crashed",
}


def find_status(folder: JobFolder) -> JobStatus | None:
    """Return the state of a job; None if no process was ever asked for."""
    return status_of(folder) if folder.was_begun else None


def is_live(folder: JobFolder) -> bool:
    """Return whether a process is on a job, so that it is worth looking again."""
    status = find_status(folder)
    return status is not None and status.is_live


def show_job(folder: JobFolder) -> None:
    """Show how far a job is, or why it ended early; nothing of one that is done or was never begun."""
    status = find_status(folder)
    if status is None or status.state == "done":
        return
    if status.is_live:
        st.progress(min(float(status.said.get("share", 0.0)), 1.0), as_text(_words(status, str(status.said.get("what", "")))))
        return
    st.error(as_text(_words(status, status.cause)), icon=":material/error:")
    if lines := log_tail(folder, _LOG_LINES):
        with st.expander("Log"):
            st.text("\n".join(lines))


def _words(status: JobStatus, what: str) -> str:
    return f"{WORDS[status.state]}: {what}" if what and status.state != "waiting" else WORDS[status.state]
