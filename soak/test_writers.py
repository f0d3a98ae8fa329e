"""Two apps and a command write to one workspace for a minute; tests/ui/test_writing.py has four seconds."""

from __future__ import annotations

import numpy as np

from core.runs.workspace import Workspace
from soak.conftest import Record
from tests.conftest import empty_store, small_template, small_workspace, workspace
from tests.ui.test_writing import assert_nothing_lost
from tests.ui.writing import APPS, COMMANDS, write_at_once

__all__ = ["empty_store", "small_template", "small_workspace", "workspace"]  # fixtures

SECONDS = 60.0
LONGEST_S = 1.0  # of 95% of the writes of each process


def test_two_apps_and_a_command_lose_nothing_and_wait_little(
    small_workspace: Workspace, record: Record
) -> None:
    written = write_at_once(small_workspace.settings.workspace, SECONDS)
    slowest = {}
    for name, each in zip((*APPS, *COMMANDS), written, strict=True):
        slowest[name] = float(np.quantile(each.seconds, 0.95))
        record(
            **{
                f"{name} notes": len(each.notes),
                f"{name} p95 s": f"{slowest[name]:.3f}",
                f"{name} max s": f"{max(each.seconds):.3f}",
            }
        )
    assert_nothing_lost(small_workspace, written)
    assert max(slowest.values()) <= LONGEST_S
