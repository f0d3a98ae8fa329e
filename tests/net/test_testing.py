"""The fake servers are imported by tests and demos, never by a registry or the command line."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys

import pytest

from core.config import REPOSITORY
from tests.fakes.http_server import RawResponse, ReceivedRequest, serve_in_thread

IMPORT_ALL = """
import importlib, pkgutil, sys
import core.cli

commands = [f"core.cli.{module.name}" for module in pkgutil.iter_modules(core.cli.__path__)]
registries = [f"core.{room.name}.registry" for room in pkgutil.iter_modules(core.__path__) if room.ispkg]
for name in commands + [name for name in registries if importlib.util.find_spec(name)]:
    importlib.import_module(name)
from core.evidence.registry import TOOLS
from core.methods.base import methods
assert len(TOOLS) >= 10 and len(methods()) >= 5
print(*(name for name in sys.modules if name.startswith("core.")))
"""


def test_raw_bytes_go_out_as_they_are_and_the_connection_is_closed_or_reset() -> None:
    async def answer(request: ReceivedRequest, reader: asyncio.StreamReader) -> RawResponse:  # noqa: ARG001
        return RawResponse([b"no ", b"HTTP"], reset=request.path == "/reset")

    with serve_in_thread(answer, "test") as address:
        port = int(address.rpartition(":")[2])
        assert _receive(port, "/") == b"no HTTP"
        with pytest.raises(ConnectionResetError):
            _receive(port, "/reset")


def _receive(port: int, path: str) -> bytes:
    """Everything that comes until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        received = b""
        while part := client.recv(1_000):
            received += part
        return received


@pytest.mark.soak
def test_no_registry_and_no_command_loads_a_fake_server() -> None:
    command = [sys.executable, "-c", f"import importlib.util\n{IMPORT_ALL}"]
    loaded = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.split()
    assert {"core.evidence.registry", "core.methods.base", "core.cli.engine"} <= set(loaded)
    assert [name for name in loaded if "testing" in name or name.rpartition(".")[2].startswith("scripted")] == []
