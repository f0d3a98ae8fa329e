"""Two apps and a command write to one workspace for a minute: nothing is lost, nobody is refused."""

from __future__ import annotations

import numpy as np

from core.base.log import last_problems
from core.runs.workspace import Workspace, open_workspace
from core.store import notes, runs
from soak.conftest import Record
from tests.conftest import empty_store, small_template, small_workspace, workspace
from tests.ui.writing import APPS, COMMANDS, ROW, RUN, Written, write_at_once

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


def assert_nothing_lost(workspace: Workspace, written: list[Written]) -> None:
    """Every note is there once, each writer wrote, and the log has no error."""
    with open_workspace(workspace.settings).store.read() as db:
        found = notes.of_row(db, runs.find(db, RUN).id, ROW)["text"].tolist()
    assert sorted(found) == sorted(text for each in written for text in each.notes)
    assert all(each.notes for each in written)
    assert last_problems(workspace.settings) == []
