"""The choice of where work is done: on this machine, or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import streamlit as st

from core.ui.option_controls import show_settings


def choose_backend(
    record: type,
    owner: str,
    defaults: Mapping[str, Any] = MappingProxyType({}),
    *,
    in_link: bool = True,
) -> dict[str, Any]:
    """Show the settings backend and, for a cluster, ray_address of a record; return their values by
    name.

    owner, defaults, in_link: as in `show_settings`.
    """
    left, right = st.columns(2)
    with left:
        chosen = show_settings(record, owner, ["backend"], defaults=defaults, in_link=in_link)
    if chosen["backend"] == "ray":
        with right:
            chosen |= show_settings(
                record, owner, ["ray_address"], defaults=defaults, in_link=in_link
            )
    return chosen
