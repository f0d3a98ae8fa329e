"""The app as others reach it: below a base address, with its links, and not without a sign-in by accident."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from core.runs.workspace import Workspace
from tests import commands
from tests.ui.conftest import OpenTab, settle
from tests.ui.serving import Server, _wait, free_port
from tests.ui.watch import Watch


@contextmanager
def serve_app(workspace: Path, path: str, *options: str, **environment: str) -> Iterator[Server]:
    """The command `serve-app`, with a base address on this machine; gone when the block ends."""
    port = free_port()
    address = f"http://127.0.0.1:{port}{path}"
    command = [sys.executable, "-m", "core", "--workspace", str(workspace), "serve-app"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--base-url", f"{address}/", *options]
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        server = Server(address, process, Path(log.name))
        try:
            _wait(server)
            yield server
        finally:
            process.kill()
            process.wait()


@pytest.mark.soak
@pytest.mark.browser
def test_below_a_base_address_links_begin_with_it(
    open_tab: OpenTab, demo_workspace: Workspace
) -> None:
    with serve_app(demo_workspace.settings.workspace, "/desk", "--read-only") as server:
        watch, page = Watch(), open_tab(permissions=["clipboard-read", "clipboard-write"])
        watch.over(page, server)
        page.goto(server.url("rows"))
        settle(page)
        assert page.get_by_test_id("stException").count() == 0, server.log.read_text()
        assert page.get_by_label("Add a note").count() == 0
        page.get_by_role("button", name="Copy link").click()
        page.get_by_text("Link copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()").startswith(f"{server.address}/rows?")
        page.get_by_text("Link copied").wait_for(state="hidden")
        page.evaluate("navigator.clipboard.writeText('')")
        page.locator(".row-list .rows").focus()
        page.keyboard.press("c")
        page.get_by_text("Link copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()").startswith(f"{server.address}/rows?")
        assert watch == Watch()
        with urlopen(f"{server.address}/_stcore/health") as answer:
            assert answer.status == 200
            assert "default-src 'self'" in answer.headers["content-security-policy"]


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    file = tmp_path / "secrets.toml"
    file.write_text('[auth]\nredirect_uri = "https://desk.example.org/oauth2callback"\n', "utf-8")
    return file


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
def test_without_a_sign_in_nobody_is_let_in_by_accident(tmp_path: Path, host: str) -> None:
    """Behind a proxy it listens to this machine alone, and is open all the same."""
    done = commands.core(
        tmp_path, "serve-app", "--host", host, "--base-url", "https://desk.example.org"
    )
    assert done.status == 1
    [line] = done.err.splitlines()
    assert line.startswith(
        "error: serve-app: everybody who reaches https://desk.example.org could change this workspace."
    )


@pytest.mark.parametrize(
    ("editors", "base_url", "words"),
    [
        ("", "https://desk.example.org", "nobody could sign in"),
        (
            "ada@lab.example",
            "https://other.example.org",
            "expected 'https://other.example.org/oauth2callback'",
        ),
        ("ada@lab.example", "desk.example.org", "--base-url: address"),
        ("ada@lab.example", "https://me:secret@desk.example.org", "(not shown)"),
    ],
)
def test_a_sign_in_that_cannot_work_is_refused(
    tmp_path: Path,
    secrets: Path,
    monkeypatch: pytest.MonkeyPatch,
    editors: str,
    base_url: str,
    words: str,
) -> None:
    monkeypatch.setenv("PERTURBDESK_SECRETS_FILE", str(secrets))
    monkeypatch.setenv("PERTURBDESK_EDITORS", editors)
    done = commands.core(tmp_path, "serve-app", "--host", "127.0.0.1", "--base-url", base_url)
    assert done.status == 1
    [line] = done.err.splitlines()
    assert words in line


def test_it_starts_with_a_sign_in_that_can_work(
    tmp_path: Path, secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERTURBDESK_SECRETS_FILE", str(secrets))
    monkeypatch.setenv("PERTURBDESK_EDITORS", "ada@lab.example")
    for name in ("PERTURBDESK_WORKSPACE", "PERTURBDESK_BASE_URL"):
        monkeypatch.setenv(name, "")
    started = []
    monkeypatch.setattr(os, "chdir", lambda _: None)
    monkeypatch.setattr(os, "execv", lambda _, command: started.append(command))
    done = commands.core(tmp_path, "serve-app --host 0.0.0.0 --base-url https://desk.example.org/")
    assert (done.status, done.err) == (0, "")
    [command] = started
    assert command[1:3] == ["-m", "core.ui.start"]
    assert command[command.index("--server.address") + 1] == "0.0.0.0"
    assert (
        next(command[i + 1] for i, word in enumerate(command) if word == "--server.allowedHosts")
        == "desk.example.org"
    )
    assert os.environ["PERTURBDESK_BASE_URL"] == "https://desk.example.org"
