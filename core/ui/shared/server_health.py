"""What model servers can do, as of the last seconds."""

from __future__ import annotations

import asyncio

import streamlit as st

from core.actions import model_servers
from core.actions.workspace import Workspace
from core.errors import DeskError
from core.llm.call_settings import CallSettings
from core.llm.health import Health
from core.log import record_error


def read_health(
    workspace: Workspace, address: str, calls: CallSettings | None = None, model: str | None = None
) -> dict[str, Health]:
    """Return each server's abilities, at most 20 seconds old. Show a button that reads the list of models again."""
    try:
        workspace.refuse_if_read_only("endpoint", address)  # also if the answer is cached
        found = _cached_health(address, calls, model, workspace)
    except DeskError as error:
        record_error(f"endpoint {address}", error)
        return {address: Health(False, problem=str(error))}
    if model is None and st.button("Check again", icon=":material/refresh:", key="check-again"):
        _cached_health.clear()
        st.rerun()
    return found


@st.cache_data(ttl=20, show_spinner="Connecting to the model server …", max_entries=8)
def _cached_health(address: str, calls: CallSettings | None, model: str | None, _workspace: Workspace) -> dict[str, Health]:
    return asyncio.run(model_servers.check_each(_workspace, address, model, calls=calls))
