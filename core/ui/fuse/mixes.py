"""Mixes: weights under a name, as the explorer's buttons set them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.explorer.prepare import Mix, starters
from core.ui.fuse.fusion_controls import WEIGHTS, FusionChoice
from core.ui.shared import loaders

PAGE = "what-if"  # whose presets the saved mixes are


def of_choice(choice: FusionChoice) -> list[Mix]:
    """The mixes of the components that are chosen: those that every fusion has, and saved ones with the settings on screen."""
    saved = [_as_mix(choice, name, values) for name, values in loaders.all_presets(PAGE).items()]
    return [*starters(len(choice.others)), *(mix for mix in saved if mix is not None)]


def _as_mix(choice: FusionChoice, name: str, values: Mapping[str, Any]) -> Mix | None:
    """A saved preset as a mix; None if it is of other components or of other settings than those on screen."""
    keys = [[f"{prefix}_{key}" for key in choice.others] for _, prefix in WEIGHTS]
    weights = {key for part in keys for key in part}
    settings = {key: value for key, value in values.items() if key not in weights}
    if not weights <= values.keys() or any(st.session_state.get(key, value) != value for key, value in settings.items()):
        return None
    return Mix(name, *(tuple(float(values[key]) for key in part) for part in keys))
