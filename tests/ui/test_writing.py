"""Two apps and a command write to one workspace at once: nothing is lost, nobody is refused."""

from __future__ import annotations

import pytest

from core.base.log import last_problems
from core.runs.workspace import Workspace, open_workspace
from core.store import notes, runs
from tests.ui.writing import ROW, RUN, Written, write_at_once

SECONDS = 2.0  # soak/test_writers.py takes 60


@pytest.mark.soak
def test_nothing_is_lost_that_two_apps_and_a_command_write_at_once(
    small_workspace: Workspace,
) -> None:
    assert_nothing_lost(small_workspace, write_at_once(small_workspace.settings.workspace, SECONDS))


def assert_nothing_lost(workspace: Workspace, written: list[Written]) -> None:
    """Every note is there once, each writer wrote, and the log has no error."""
    with open_workspace(workspace.settings).store.read() as db:
        found = notes.of_row(db, runs.find(db, RUN).id, ROW)["text"].tolist()
    assert sorted(found) == sorted(text for each in written for text in each.notes)
    assert all(each.notes for each in written)
    assert last_problems(workspace.settings) == []
