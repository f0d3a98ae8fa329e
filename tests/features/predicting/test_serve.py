"""The command lines of vLLM, and the watch over a server: with small servers of our own in its place."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from core.base.errors import DeskError, InputError, MissingPackage, StateError
from core.features.predicting.serve import (
    HOST,
    ServerOptions,
    SupervisionLimits,
    command_of,
    default_python,
    device_of,
    environment_of,
    serve,
    supervise,
)
from core.llm import health

PYTHON = Path("/somewhere/bin/python")
# Answers /health, has a child as vLLM has, and notes both process ids; "die" ends it after a while, "deaf" ignores SIGTERM.
SERVER = """
import http.server, os, signal, subprocess, sys, threading, time

port, notes, how = int(sys.argv[1]), sys.argv[2], sys.argv[3]
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open(notes, "a") as file:
    file.write(f"{os.getpid()} {child.pid}\\n")

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()
        if how == "die":
            threading.Timer(0.3, os._exit, (7,)).start()

    def log_message(self, *_):
        pass

if how == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def started(notes: Path) -> list[list[int]]:
    """(server, child) of every start, in order."""
    return [list(map(int, line.split())) for line in notes.read_text().splitlines()]


def gone(notes: Path) -> bool:
    """Whether nothing is left of any server, however little time init takes to see to it."""
    deadline = time.monotonic() + 10
    while any(alive(pid) for pair in started(notes) for pid in pair):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def watch(
    tmp_path: Path, how: str, say: Callable[[str], None], limits: SupervisionLimits
) -> signal.Signals:
    port = free_port()
    command = (sys.executable, "-c", SERVER, str(port), str(tmp_path / "notes"), how)
    return supervise(command, os.environ, (HOST, port), limits, say)


def test_the_command_line_on_a_gpu() -> None:
    asked = ServerOptions("openai/gpt-oss-120b", tensor_parallel=4, extra=("--dtype", "auto"))
    command = command_of(asked, PYTHON, "gpu")
    assert command == (
        *(
            "/somewhere/bin/vllm",
            "serve",
            "openai/gpt-oss-120b",
            "--host",
            "127.0.0.1",
            "--port",
            "8000",
        ),
        *(
            "--enforce-eager",
            "--no-enable-prefix-caching",
            "--tensor-parallel-size",
            "4",
            "--dtype",
            "auto",
        ),
    )
    # What the health check tells people to type starts the same server.
    assert set(health.START_COMMAND.split()[1:]) <= set(command)
    assert "--max-model-len" in command_of(replace(asked, max_model_len=9000), PYTHON, "gpu")


def test_the_command_line_on_a_cpu() -> None:
    assert command_of(ServerOptions("some/model", port=8123), PYTHON, "cpu") == (
        *(
            "/somewhere/bin/python",
            "-m",
            "vllm.entrypoints.openai.api_server",
            "--model",
            "some/model",
        ),
        *("--host", "127.0.0.1", "--port", "8123", "--enforce-eager", "--no-enable-prefix-caching"),
        *("--no-enable-chunked-prefill", "--max-model-len", "4096"),
    )
    assert command_of(ServerOptions("some/model", max_model_len=512), PYTHON, "cpu")[-1] == "512"


def test_a_folder_is_served_under_its_name_unless_another_is_given(tmp_path: Path) -> None:
    (tmp_path / "mine-4B").mkdir()
    options = ServerOptions(str(tmp_path / "mine-4B"))
    assert command_of(options, PYTHON, "gpu")[-2:] == ("--served-model-name", "mine-4B")
    other = replace(options, extra=("--served-model-name", "other"))
    assert command_of(other, PYTHON, "gpu").count("--served-model-name") == 1
    assert "--served-model-name" not in command_of(ServerOptions("some/model"), PYTHON, "gpu")


def test_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VLLM_CPU_KVCACHE_SPACE", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    fetched = environment_of(ServerOptions("some/model"), "gpu")
    assert (fetched["VLLM_NO_USAGE_STATS"], fetched["PATH"]) == ("1", os.environ["PATH"])
    assert not {"HF_HUB_OFFLINE", "VLLM_CPU_KVCACHE_SPACE"} & set(fetched)
    folder = environment_of(ServerOptions(str(tmp_path)), "cpu")
    assert (folder["HF_HUB_OFFLINE"], folder["VLLM_CPU_KVCACHE_SPACE"]) == ("1", "1")
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "8")
    assert environment_of(ServerOptions("some/model"), "cpu")["VLLM_CPU_KVCACHE_SPACE"] == "8"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"model": ""}, "model is '', expected a name or a folder"),
        ({"model": "--help"}, "model is '--help', expected a name or a folder"),
        ({"port": 0}, "port is 0, expected 1 to 65535"),
        ({"port": 65536}, "port is 65536"),
        ({"tensor_parallel": 0}, "tensor_parallel is 0, expected 1 or more GPUs"),
        ({"max_model_len": 0}, "max_model_len is 0, expected 1 or more tokens"),
        (
            {"host": "0.0.0.0", "api_key": "k"},
            "host is '0.0.0.0', expected the name or the IPv4 address of one interface",
        ),
        ({"host": "::1", "api_key": "k"}, "host is '::1'"),
        (
            {"host": "gpu1"},
            "gpu1 can be reached from other machines, so requests need a key: set PERTURBDESK_API_KEY",
        ),
    ],
)
def test_what_cannot_be_served(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        ServerOptions(**{"model": "some/model", **wrong})  # type: ignore[arg-type]


def test_who_listens_beyond_this_machine_asks_for_a_key() -> None:
    options = ServerOptions("some/model", port=8123, host="gpu1", api_key="sesame-1234")
    command = command_of(options, PYTHON, "gpu")
    assert command[command.index("--host") + 1] == "gpu1"
    assert options.base_url == "http://gpu1:8123/v1"
    assert environment_of(options, "gpu")["VLLM_API_KEY"] == "sesame-1234"
    assert not any("sesame" in text for text in (*command, repr(options)))
    assert "VLLM_API_KEY" not in environment_of(replace(options, host=HOST), "gpu")


def test_an_interpreter_without_vllm_is_refused(tmp_path: Path) -> None:
    assert default_python().exists()
    # An interpreter that sees the standard library alone.
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(
        MissingPackage,
        match=r"cannot import \(ModuleNotFoundError: No module named 'vllm'\).*requirements-serve",
    ):
        device_of(bare)
    with pytest.raises(MissingPackage, match=r"cannot be run \(.*No such file.*requirements-serve"):
        serve(ServerOptions("some/model", python=tmp_path / "absent"))


@pytest.mark.soak
@pytest.mark.parametrize(
    ("kind", "number"),
    [("well", signal.SIGINT), ("well", signal.SIGTERM), ("deaf", signal.SIGTERM)],
)
def test_a_signal_ends_the_server_and_its_children(
    kind: str, number: signal.Signals, tmp_path: Path
) -> None:
    said = []

    def say(text):
        said.append(text)
        if text.startswith("ready: "):
            threading.Timer(0.1, os.kill, (os.getpid(), number)).start()

    before = signal.getsignal(number)
    assert watch(tmp_path, kind, say, SupervisionLimits(stop_s=0.5)) is number
    assert signal.getsignal(number) is before
    assert len(started(tmp_path / "notes")) == 1
    assert gone(tmp_path / "notes")
    assert [text.split(":")[0] for text in said] == ["starting", "ready"]


@pytest.mark.soak
def test_a_server_that_dies_is_started_again_so_often(tmp_path: Path) -> None:
    said = []
    with pytest.raises(StateError, match="ended with status 7, giving up after 2 restarts"):
        watch(tmp_path, "die", said.append, SupervisionLimits(restarts=2))
    assert len(started(tmp_path / "notes")) == 3
    assert gone(tmp_path / "notes")
    again = [text.partition(" ended ")[2] for text in said if "again" in text]
    assert again == [f"with status 7; starting it again ({i} of 2 times at most)" for i in (1, 2)]


def test_a_server_that_does_not_come_up_is_not_started_again() -> None:
    said = []
    with pytest.raises(
        StateError, match="ended with status 3 before it answered; its output says why"
    ):
        supervise(
            ("sh", "-c", "exit 3"),
            os.environ,
            (HOST, free_port()),
            SupervisionLimits(),
            said.append,
        )
    with pytest.raises(StateError, match=r"was silent for 0\.3 s before it answered"):
        supervise(
            ("sleep", "60"),
            os.environ,
            (HOST, free_port()),
            SupervisionLimits(ready_s=0.3),
            said.append,
        )
    assert [text.split(":")[0] for text in said] == ["starting", "starting"]


def test_being_told_to_end_while_it_starts(tmp_path: Path) -> None:
    def say(_text):
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

    assert (
        supervise(("sleep", "60"), os.environ, (HOST, free_port()), SupervisionLimits(), say)
        is signal.SIGINT
    )
    assert not (tmp_path / "notes").exists()


def test_a_port_that_is_taken_is_refused() -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(DeskError, match=f"port {port}: cannot be listened on"):
            supervise(
                ("sleep", "60"), os.environ, (HOST, port), SupervisionLimits(), lambda _: None
            )
    with pytest.raises(
        DeskError, match=rf"198\.51\.100\.1, port {port}: cannot be listened on"
    ):  # of no machine, by RFC 5737
        supervise(
            ("sleep", "60"), os.environ, ("198.51.100.1", port), SupervisionLimits(), lambda _: None
        )


def test_output_goes_to_standard_error() -> None:
    program = (
        "import os; from core.features.predicting.serve import *\n"
        "command = ('sh', '-c', 'echo out; echo err >&2; exit 1')\n"
        f"supervise(command, os.environ, ('{HOST}', {free_port()}), SupervisionLimits(), say_on_stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert {"out", "err"} <= set(done.stderr.split("\n"))


def test_no_key_stands_in_a_command_line_or_reaches_a_server_that_needs_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for extra in (("--api-key", "sesame-1234"), ("--api-key=sesame-1234",)):
        with pytest.raises(InputError, match="set PERTURBDESK_API_KEY instead") as refused:
            ServerOptions("some/model", extra=extra)
        assert "sesame" not in str(refused.value)
    monkeypatch.setenv("PERTURBDESK_API_KEY", "sesame-1234")
    monkeypatch.setenv("PERTURBDESK_NCBI_API_KEY", "ncbi-1234567")
    monkeypatch.setenv("HF_TOKEN", "hf_1234567")
    local = environment_of(ServerOptions("some/model"), "gpu")
    assert not any("sesame" in text or "ncbi-1" in text for text in local.values())
    assert local["HF_TOKEN"] == "hf_1234567"  # with which vLLM fetches a model
    other = environment_of(ServerOptions("some/model", host="gpu1", api_key="sesame-1234"), "gpu")
    assert [name for name, text in other.items() if "sesame" in text] == ["VLLM_API_KEY"]
