"""A model served as the command `serve` serves it, for the length of a block."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from core.features.predicting.serve import HOST
from core.llm.endpoint import Endpoint

LENGTH = 4096
SERVE = """
import sys
from core.features.predicting.serve import ServerOptions, serve

model, port, length, *extra = sys.argv[1:]
serve(ServerOptions(model, int(port), max_model_len=int(length), extra=tuple(extra)))
"""
READY_S, STOP_S = 300.0, 60.0


@contextmanager
def serving(model: Path, log: Path, *options: str) -> Iterator[Endpoint]:
    """Start a server, and see that it leaves nothing behind when it is told to end; options: of vLLM."""
    supervisor, port = _start(model, log, *options)
    try:
        started = _wait_until_ready(supervisor, log)
        yield Endpoint(f"http://{HOST}:{port}/v1", timeout_s=120)
        assert supervisor.poll() is None, _tail(log)
        assert "starting it again" not in log.read_text("utf-8", "replace")
        supervisor.send_signal(signal.SIGINT)
        assert supervisor.wait(STOP_S) == 0, _tail(log)
        wait_until(lambda: not any(_runs(process) for process in started), STOP_S, log)
        with socket.socket() as probe:
            assert probe.connect_ex((HOST, port)) != 0
    finally:
        supervisor.terminate()
        supervisor.wait(STOP_S)


@contextmanager
def serving_until_killed(
    model: Path, log: Path, *options: str
) -> Iterator[tuple[Endpoint, Callable[[], None]]]:
    """Start a server; gives it and the function that kills all its processes and who watches over them, without a word."""
    supervisor, port = _start(model, log, *options)
    processes = [psutil.Process(supervisor.pid)]

    def kill() -> None:
        for process in processes:
            if _runs(process):
                process.kill()

    try:
        processes += _wait_until_ready(supervisor, log)
        yield Endpoint(f"http://{HOST}:{port}/v1", timeout_s=120), kill
    finally:
        kill()
        supervisor.wait(STOP_S)


def _start(model: Path, log: Path, *options: str) -> tuple[subprocess.Popen[bytes], int]:
    port = _free_port()
    with log.open("wb") as output:
        command = [sys.executable, "-c", SERVE, str(model), str(port), str(LENGTH), *options]
        return subprocess.Popen(command, stdout=output, stderr=output), port


def _wait_until_ready(supervisor: subprocess.Popen[bytes], log: Path) -> list[psutil.Process]:
    """Wait until the server answers; its processes."""
    wait_until(
        lambda: supervisor.poll() is not None or "ready: " in log.read_text("utf-8", "replace"),
        READY_S,
        log,
    )
    assert supervisor.poll() is None, _tail(log)
    started = psutil.Process(supervisor.pid).children(recursive=True)
    assert len(started) >= 2, "expected the server and the process of its model"
    return started


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def wait_until(holds: Callable[[], bool], within_s: float, log: Path | None = None) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, _tail(log) if log else "waited in vain"
        time.sleep(0.05)


def _tail(log: Path) -> str:
    return "\n".join(log.read_text("utf-8", "replace").splitlines()[-30:])


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
