"""The choice of where a run's rows are predicted: on this machine, or on a Ray cluster."""

from __future__ import annotations

from typing import Any, cast

import streamlit as st

from core.engine.spec import BackendName, ExecutionSettings
from core.ui.shared.linked import choose_one

_TITLES: dict[BackendName, str] = {"local": "this machine", "ray": "a Ray cluster"}
_LABEL = "Rows are predicted on"
_ADDRESS_LABEL = "Address of the cluster"
_ADDRESS_HELP = (
    "HOST:PORT as `ray start --head` prints it, or auto for this machine's cluster. Without an address, Ray starts here and "
    "ends with the run. Answers, journal and store stay on this machine."
)
_PLACEHOLDER = "none: start one here"


def choose_backend() -> dict[str, Any]:
    """Show the choice for a new run; return backend and ray_address of its request."""
    one, two = st.columns(2)
    backend = choose_one(one.selectbox, "backend", _LABEL, cast("dict[str, str]", _TITLES), "local")
    if backend != "ray":
        return {}
    address = two.text_input(_ADDRESS_LABEL, key="address-ray", placeholder=_PLACEHOLDER, help=_ADDRESS_HELP)
    return {"backend": backend, "ray_address": address.strip()}


def change_backend(run: str, present: ExecutionSettings) -> dict[str, Any]:
    """Show the choice for a run to resume; return backend and ray_address of its settings."""
    one, two = st.columns(2)
    names = list(_TITLES)
    place = names.index(present.backend)
    backend = one.selectbox(_LABEL, names, place, format_func=lambda name: _TITLES[name], key=f"calls-backend-{run}")
    if backend != "ray":
        return {"backend": "local", "ray_address": ""}
    address = two.text_input(
        _ADDRESS_LABEL, present.ray_address, key=f"address-ray-{run}", placeholder=_PLACEHOLDER, help=_ADDRESS_HELP
    )
    return {"backend": "ray", "ray_address": address.strip()}
