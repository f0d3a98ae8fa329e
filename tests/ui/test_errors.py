"""What a page shows and records when something is wrong."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.base import log
from core.base.config import REPOSITORY, Settings
from core.base.errors import InputError
from core.features.server import server
from core.runs.workspace import Workspace, open_workspace
from core.ui import shell, start
from tests import commands, mounts
from tests.ui.conftest import Visit


def test_a_malformed_setting_is_said_in_the_words_of_the_command_line(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PERTURBDESK_STORE_MEMORY_MB", "2GB")
    said = commands.core(tmp_path, "runs").err.removeprefix("error: ").strip()
    app = visit(small_workspace, "overview")
    assert [error.value.replace("\\", "") for error in app.error] == [said]


def test_the_start_ends_with_a_malformed_setting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PERTURBDESK_WORKSPACE", str(tmp_path))
    monkeypatch.setenv("PERTURBDESK_BUSY_TIMEOUT_S", "soon")
    with pytest.raises(SystemExit) as ended:
        start.main()
    assert (
        ended.value.code
        == "error: PERTURBDESK_BUSY_TIMEOUT_S: got 'soon', expected seconds, 0 or more"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.soak
def test_every_error_that_a_page_shows_is_in_the_log_with_its_traceback(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments):
        raise InputError("planted: got 1, expected 2")

    monkeypatch.setattr(shell, "predicting_runs", fail)
    app = visit(small_workspace, "rows", row="Pa_Ga")
    assert [error.value.replace("\\", "") for error in app.error] == ["planted: got 1, expected 2"]
    text = log.log_file(small_workspace.settings).read_text("utf-8")
    assert "InputError: planted: got 1, expected 2" in text
    assert "row=Pa_Ga" in text
    assert 'raise InputError("planted' in text


def test_an_error_that_nobody_foresaw_is_in_the_log_too(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments):
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(shell, "predicting_runs", fail)
    with pytest.raises(AssertionError, match="encountered an error"):
        visit(small_workspace, "rows")
    [line] = log.last_problems(small_workspace.settings)
    assert line.endswith("ZeroDivisionError: planted")


def test_the_server_records_what_no_page_could(small_workspace: Workspace) -> None:
    log.configure(small_workspace.settings, "app")
    try:
        handler = server.app._on_script_error
        handler(ZeroDivisionError("in a callback"))
    finally:
        log.close()
    [line] = log.last_problems(small_workspace.settings)
    assert line.endswith("ZeroDivisionError: in a callback")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("planted", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/desk"), "no space left on the disk"),
        (
            PermissionError(errno.EACCES, "Permission denied", "/desk"),
            "/desk: permission denied; ask its owner",
        ),
        (MemoryError(), "out of memory; end other programs"),
    ],
)
def test_what_the_system_refuses_is_a_sentence(
    visit: Visit,
    small_workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    planted: BaseException,
    words: str,
) -> None:
    def fail(*_arguments):
        raise planted

    monkeypatch.setattr(shell, "predicting_runs", fail)
    app = visit(small_workspace, "rows")
    assert [words in error.value.replace("\\", "") for error in app.error] == [True]
    assert "Traceback" in log.log_file(small_workspace.settings).read_text("utf-8")


@pytest.mark.soak
@pytest.mark.parametrize("page", ["overview", "rows", "scores", "data", "run"])
def test_pages_of_a_disk_that_nobody_can_write_to(
    visit: Visit, small_workspace: Workspace, page: str, tmp_path: Path
) -> None:
    place = tmp_path / "copy"
    shutil.copytree(small_workspace.settings.workspace, place)
    with mounts.read_only(place):
        app = visit(open_workspace(Settings(workspace=place)), page)
        assert not app.error
        assert any("read-only" in caption.value for caption in app.sidebar.caption)


FIRST_START = """
import os
from core.features.demo import actions as demo
from core.ui import start

demo.make_demo = os.execv = lambda *_: None
start.main()
"""


@pytest.mark.soak
def test_a_first_start_prints_no_warnings(tmp_path: Path) -> None:
    own = os.environ | {"PERTURBDESK_WORKSPACE": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_START],
        cwd=REPOSITORY,
        env=own,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("An empty workspace: making the simulated demo …\n", "")


def test_a_server_is_imported_without_warnings(tmp_path: Path) -> None:
    """Pages with their caches, too: a server imports them before it can keep anything."""
    script = "import core.features.server.server; from core.ui import shell"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=REPOSITORY,
        env=os.environ | {"PERTURBDESK_WORKSPACE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
