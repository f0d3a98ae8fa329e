"""The choice of a model server and its model, with the server's abilities as of the last
seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from core.base.errors import DeskError, InputError
from core.base.fields.record import option_of
from core.base.log import record_error
from core.llm.call_settings import CallSettings
from core.llm.health import START_COMMAND, Health, describe_logprobs
from core.runs import model_servers
from core.runs.workspace import Workspace
from core.ui.linked import bind
from core.ui.option_controls import key_of, show_calls, show_settings, title_of
from core.ui.widgets import as_text


@dataclass(frozen=True, slots=True)
class ChosenServer:
    """A model server, or several, as a person chose them. model: None if none answers. health: None
    if it is not known."""

    address: str
    model: str | None
    health: Health | None
    calls: CallSettings


def choose_server(workspace: Workspace, record: type, owner: str) -> ChosenServer:
    """Show the endpoint, call options and model of a request, and the server's abilities. owner: as
    in `show_settings`."""
    usual = workspace.settings.endpoint
    address = (
        show_settings(record, owner, ["endpoint"], defaults={"endpoint": usual})["endpoint"]
        or usual
    )
    try:
        calls = show_calls(owner)
    except InputError as error:
        st.markdown(f":orange[{as_text(error)}]")
        return ChosenServer(address, None, Health(False), CallSettings())
    found = _read_health(workspace, address, calls)
    health = model_servers.combine(found)
    if len(found) > 1:
        _show_each(found)
    if not health.models:
        st.warning("No model answers there.", icon=":material/cloud_off:")
        st.caption(as_text(health.problem))
        st.markdown("Start one, for example on a machine with a GPU:")
        st.code(START_COMMAND, language=None, wrap_lines=True)
    about = option_of(record, "model")
    model = st.selectbox(
        title_of(about),
        health.models,
        help=about.about.help,
        disabled=not health.models,
        placeholder="no server answers",
        **bind(key_of(about, owner)),
    )
    if len(health.models) > 1 and model:
        found = _read_health(workspace, address, calls, model)
        health = replace(model_servers.combine(found), models=health.models)
    if health.models and health.problem and len(found) == 1:
        st.warning(as_text(health.problem), icon=":material/error:")
    elif health.models:
        facts = (
            f"log-probabilities {describe_logprobs(health)} · answers by schema"
            f" {'yes' if health.structured else 'no'}"
        )
        facts += f" · longest context {health.max_model_len or 'unknown'}"
        st.success(
            f"{as_text(model or health.models[0])} answers · {facts}",
            icon=":material/check_circle:",
        )
    return ChosenServer(address, model, health, calls)


def _show_each(found: Mapping[str, Health]) -> None:
    """Show, for each of several model servers, whether the run can use it, and why not."""
    for address, health in found.items():
        icon = ":orange[:material/block:]" if health.problem else ":material/check:"
        st.markdown(f"{icon} {as_text(health.problem or address)}")
    if any(health.models and health.problem for health in found.values()):
        st.markdown("Remove the servers that differ from the first: no run starts with them.")


def _read_health(
    workspace: Workspace, address: str, calls: CallSettings, model: str | None = None
) -> dict[str, Health]:
    """Return each server's abilities, at most 20 seconds old. Show a button that reads the list of
    models again."""
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
def _cached_health(
    address: str, calls: CallSettings, model: str | None, _workspace: Workspace
) -> dict[str, Health]:
    return asyncio.run(
        model_servers.check_each(_workspace, address, model, calls=calls, by_schema=True)
    )


def choose_backend(record: type, owner: str) -> dict[str, Any]:
    """Show the settings backend and, for a cluster, ray_address of a record; return their values by
    name. owner: as in `show_settings`."""
    left, right = st.columns(2)
    with left:
        chosen = show_settings(record, owner, ["backend"])
    if chosen["backend"] == "ray":
        with right:
            chosen |= show_settings(record, owner, ["ray_address"])
    return chosen
