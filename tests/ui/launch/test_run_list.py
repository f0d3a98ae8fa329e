"""The words of the list of runs."""

from __future__ import annotations

from typing import get_args

from core.engine.run_state import State
from core.ui.launch.run_list import STATES


def test_every_state_of_a_run_has_words() -> None:
    assert set(STATES) == set(get_args(State))
    assert STATES["interrupted"] == "its worker was told to end; can be resumed"
