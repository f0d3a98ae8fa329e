"""What a page shows and records when something is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.actions.workspace import Workspace
from tests import commands
from tests.ui.conftest import Visit


def test_a_malformed_setting_is_said_in_the_words_of_the_command_line(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PERTURBDESK_STORE_MEMORY_MB", "2GB")
    said = commands.core(tmp_path, "runs").err.removeprefix("error: ").strip()
    app = visit(small_workspace, "overview")
    assert [error.value.replace("\\", "") for error in app.error] == [said]
