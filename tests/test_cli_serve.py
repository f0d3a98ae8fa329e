"""The command serve, with a small server of our own in vLLM's place."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.llm.test_serve import SERVER, free_port, gone, started

# Says that it has vLLM for a CPU; in place of the server it starts ours, at the port behind "--port". It dies soon, so that
# a command that announces nothing ends after its last restart.
INTERPRETER = """#!/bin/sh
[ "$1" = -c ] && echo cpu && exit
while [ "$1" != --port ]; do shift; done
exec "{python}" -c '{server}' "$2" "{notes}" die
"""


@pytest.mark.soak
@pytest.mark.parametrize("replicas", [1, 2])
def test_replicas_announces_what_a_run_asks_however_many_there_are(tmp_path: Path, replicas: int) -> None:
    notes, interpreter = tmp_path / "notes", tmp_path / "python"
    interpreter.write_text(INTERPRETER.format(python=sys.executable, server=SERVER, notes=notes))
    interpreter.chmod(0o755)
    options = ("--replicas", str(replicas), "--port", str(free_port()), "--python", str(interpreter))
    command = [sys.executable, "-m", "core", "--workspace", str(tmp_path), "serve", "some/model", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            addresses = process.stdout.readline().strip().split(",")
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert len(addresses) == replicas
    assert all(address.startswith("http://127.0.0.1:") and address.endswith("/v1") for address in addresses)
    assert len(started(notes)) >= replicas
    assert gone(notes)
