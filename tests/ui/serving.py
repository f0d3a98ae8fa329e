"""A server on a free loopback port, for as long as a block lasts, and where the browser is."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.error import URLError
from urllib.parse import urlencode

from core.base.config import REPOSITORY
from core.base.errors import MissingPackage

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HARDENED = ("-m", "core.ui.start")
PLAIN = ("-m", "streamlit", "run", "app.py")
STARTS = {"hardened": HARDENED, "plain": PLAIN}
WAIT_S = 60.0
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
]


def chromium() -> str | None:
    """The path of Chromium or Chrome, None where there is none.

    Chromium's build without windows comes first: it takes two thirds of the processor time for a page.
    """
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


@dataclass(frozen=True)
class Server:
    """A running server. log: what it has printed so far."""

    address: str
    process: subprocess.Popen[bytes]
    log: Path

    def url(self, page: str = "", **parameters: str | Sequence[str]) -> str:
        """The address of a page; a parameter may stand twice."""
        query = urlencode(parameters, doseq=True)
        return f"{self.address}/{page}{'?' if query else ''}{query}"

    def wait_until_prepared(self) -> None:
        """Wait until it has imported all pages. Raises TimeoutError."""
        deadline = time.monotonic() + WAIT_S
        while "prepared:" not in self.log.read_text():
            if time.monotonic() > deadline:
                raise TimeoutError(self.log.read_text())
            time.sleep(0.1)

    def stop(self) -> int:
        """Interrupt it as Ctrl-C does; its exit status. Raises TimeoutExpired when it does not end."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(WAIT_S)


@contextmanager
def serving(
    workspace: Path,
    start: Sequence[str] = HARDENED,
    folder: Path = REPOSITORY,
    **environment: str,
) -> Iterator[Server]:
    """Serve `workspace` in a process of its own, which is gone when the block ends, however it ends.

    start: arguments of the Python interpreter, in a folder with the app. Raises RuntimeError, with the log, when the server does not answer.
    """
    own = {"PERTURBDESK_WORKSPACE": str(workspace), "PERTURBDESK_AUTHOR": "tester", **environment}
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        process, port = _start(start, folder, own, log)
        try:
            server = Server(f"http://127.0.0.1:{port}", process, Path(log.name))
            _wait(server)
            yield server
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def _start(
    start: Sequence[str], folder: Path, own: Mapping[str, str], log: IO[bytes]
) -> tuple[subprocess.Popen[bytes], int]:
    port = free_port()
    command = [sys.executable, *start, "--server.port", str(port)]
    environment = {**os.environ, **own}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    return process, port


def free_port() -> int:
    """A loopback port that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(server: Server) -> None:
    """Until the health page answers, which runs no page: the server stays one that nobody has visited."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline and server.process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.address}/_stcore/health", timeout=5):
                return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.05)
    raise RuntimeError(
        f"{' '.join(map(str, server.process.args))}: no answer\n{server.log.read_text()}"
    )


@contextmanager
def started_browser() -> Iterator[Browser]:
    """Chromium, as scripts use it. Raises MissingPackage where there is none."""
    from playwright.sync_api import sync_playwright

    found = chromium()
    if found is None:
        raise MissingPackage("Chromium or Chrome is not on the path; install your system's package")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=CHROMIUM_FLAGS)
        yield started
        started.close()
