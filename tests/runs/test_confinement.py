"""A process that confines itself reaches no network, no other folder and no more memory than it may; what the system cannot
enforce is not said to be enforced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from core.base.config import REPOSITORY

_TRIES = """
import json, os, socket, sys
from pathlib import Path
from core.runs.confinement import Limits, confine
from core.runs.upload_process import _code

own, secret, port = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
found = {"enforced": confine(Limits(300, 60.0), _code(), [own, Path("/dev/null")])}

def attempt(name, action):
    try:
        action()
        found[name] = "done"
    except (OSError, MemoryError) as error:
        found[name] = type(error).__name__

def connect():
    socket.create_connection(("127.0.0.1", port), timeout=5).close()

def move():
    (own / "a").mkdir()
    (own / "b").mkdir()
    (own / "a" / "x").write_text("x")
    (own / "a" / "x").rename(own / "b" / "x")

attempt("read secret", lambda: secret.read_bytes())
attempt("read environment of the parent", lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes())
attempt("write beside", lambda: (secret.parent / "new").write_text("x"))
attempt("write own", lambda: (own / "file").write_text("x"))
attempt("move", move)
attempt("connect", connect)
attempt("resolve", lambda: socket.getaddrinfo("localhost", port))
attempt("500 MB", lambda: bytearray(500 << 20))
attempt("100 MB", lambda: bytearray(100 << 20))
attempt("state of itself", lambda: Path("/proc/self/status").read_text())
print(json.dumps(found))
"""


@pytest.fixture
def found() -> dict[str, Any]:
    """What a confined process could do. Its files are not in memory: what lies there may be read."""
    with TemporaryDirectory() as folder:
        own, secret = Path(folder, "own"), Path(folder, "secrets.toml")
        own.mkdir()
        secret.write_text("api_key = 'secret'")
        command = [sys.executable, "-c", _TRIES, str(own), str(secret), "9"]
        done = subprocess.run(
            command, cwd=REPOSITORY, capture_output=True, check=False, timeout=120
        )
    assert done.returncode == 0, done.stderr.decode()
    return dict(json.loads(done.stdout))


@pytest.mark.soak
def test_it_does_what_it_may_and_nothing_else(found: dict[str, Any]) -> None:
    enforced = found.pop("enforced")
    assert enforced[:2] == ["memory", "time"]
    folders = "PermissionError" if "no other folders" in enforced else "done"
    expected = {
        "read secret": folders,
        "read environment of the parent": folders,
        "write beside": folders,
        "write own": "done",
        "move": "done",
        "connect": "PermissionError",
        "resolve": "PermissionError",
        "500 MB": "MemoryError",
        "100 MB": "done",
        "state of itself": "done",
    }
    assert found == expected


@pytest.mark.skipif(
    not Path("/sys/kernel/security/landlock").exists() and os.uname().release < "5.13",
    reason="needs Landlock",
)
def test_this_system_says_whether_it_has_landlock(found: dict[str, Any]) -> None:
    assert set(found["enforced"]) <= {"memory", "time", "no network", "no other folders", "no TCP"}
